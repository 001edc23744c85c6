// What data are made from: the raw sources and the files of the vocabulary, as they were first
// seen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "control/data/read/document_chunks.h"

namespace exprun {

// What the kernel says of a file, to know whether it changed: device, inode, size, times.
struct FileStamp {
  int64_t device = 0, inode = 0, bytes = 0;
  int64_t modified_seconds = 0, modified_nanoseconds = 0;
  int64_t changed_seconds = 0, changed_nanoseconds = 0;

  bool operator==(const FileStamp&) const = default;
};

// Nothing for what is no regular file.
std::optional<FileStamp> file_stamp(const std::filesystem::path& file);

class InputFiles {
 public:
  // `options` is all else that decides what comes out. Throws Error for a vocabulary that cannot be
  // read.
  InputFiles(std::vector<RawSource> sources, std::vector<std::filesystem::path> vocabulary,
             std::string options);

  const std::vector<RawSource>& sources() const { return sources_; }
  const std::vector<std::filesystem::path>& vocabulary() const { return vocabulary_; }
  bool has_standard_input() const;
  int64_t source_bytes(std::optional<Split> split = std::nullopt) const;  // or of all

  // 32 hex digits of the options and of the files' names, sizes and times: none of them is opened.
  // Standard input is never the same.
  const std::string& key() const { return key_; }
  // Not if a file changed within the last seconds: it could change again with the same times.
  bool are_settled() const { return settled_; }

  // 32 hex digits of the options and the content, as content_of() gives it.
  std::string fingerprint(const std::string& content) const;
  // Reads all sources, which must be files. Throws RecipeError, Error.
  std::string fingerprint() const;

  // The first file that holds something else by now than when it gave this fingerprint.
  std::optional<std::filesystem::path> changed_file(const std::string& fingerprint) const;

 private:
  std::string hash_of_vocabulary() const;
  std::vector<std::optional<FileStamp>> stamps() const;
  std::string key_now() const;
  bool settled_now() const;
  bool is_same(const std::vector<std::optional<FileStamp>>& now,
               const std::string& fingerprint) const;

  const std::vector<RawSource> sources_;
  const std::vector<std::filesystem::path> vocabulary_;
  const std::string options_;
  const std::vector<std::optional<FileStamp>> stamps_;  // before any file is read
  const std::string vocabulary_hash_, key_;
  const bool settled_;
};

// What a set of files holds, as one hash: a resume compares it, so it must cost next to nothing
// even for 20 GB. Up to 256 MiB every byte counts. Of larger sets it is, of each file, the size
// and 16 blocks of 4 KiB at even distances, the first and the last bytes among them: another file
// or another size is noticed, a change of a few bytes in place may not be.
struct ContentPart {
  std::string role;  // "train"
  std::filesystem::path file;
  std::string hash = {};  // hash_of_part()
};

// Of a file of a set of so many bytes in all. Throws Error.
std::string hash_of_part(const std::filesystem::path& file, uint64_t bytes_of_all);

// 32 hex digits of roles and contents, in order; names do not count. Gives each part its hash.
// Throws Error.
std::string content_hash(std::vector<ContentPart>& parts);

// Which data was made of files that have not changed since: found by their sizes and times, so that
// a second start opens none of them.
class KnownSources {
 public:
  KnownSources(const std::filesystem::path& data_folder, const InputFiles& inputs);

  // The fingerprint that these files had when they were last read.
  std::optional<std::string> fingerprint() const;
  // Not of files that are not settled.
  void remember(const std::string& fingerprint) const;

 private:
  std::filesystem::path file_;
  bool settled_;
};

}  // namespace exprun
