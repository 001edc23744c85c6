// What a set of files holds, as one hash: a resume compares it, so it must cost next to nothing
// even for 20 GB. Up to 256 MiB every byte counts. Of larger sets it is, of each file, the size
// and 16 blocks of 4 KiB at even distances, the first and the last bytes among them: another file
// or another size is noticed, a change of a few bytes in place may not be.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace exprun {

struct ContentPart {
  std::string role;  // "train"
  std::filesystem::path file;
};

// 32 hex digits of roles and contents, in order; names do not count. Throws Error.
std::string content_hash(const std::vector<ContentPart>& parts);

}  // namespace exprun
