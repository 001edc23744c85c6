// One file from the net: into "<file>.part", checked, then renamed. A part is continued where a
// size or a checksum is published that the whole file is checked against, and begun again
// otherwise. Of several processes that fetch the same file one does, and the others wait for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace exprun {

struct Download {
  std::string address;
  std::filesystem::path file;
  int64_t bytes = 0;    // as published; 0: not known
  std::string sha256;   // as published; empty: not known
  bool tokens = false;  // a token shard
  bool checked = true;  // against size and SHA-256
};

struct DownloadOptions {
  int64_t retries = 5;      // since the last attempt that received more than all before
  double first_wait = 0.5;  // seconds before the first retry; each next one waits twice as long
};

// Of several files together, in bytes.
struct DownloadProgress {
  std::atomic<int64_t> received{0};
  std::atomic<int64_t> expected{0};  // as published, or else as the servers say
};

// "https://host/path" at EXPRUN_MIRROR, where that is set: "<mirror>/path".
std::string mirrored(const std::string& address);

// Whether the file is there with the published size and checksum, as far as these are known.
bool is_downloaded(const Download& download);

// How much of it is in its part.
int64_t bytes_begun(const Download& download);

// Throws Error: the server refuses, other bytes arrive than were published, or there is no answer
// after all retries; a part that can be continued stays for the next call. Returns at once, without
// the file, when a stop was requested.
void download(const Download& download, const DownloadOptions& options, DownloadProgress& progress);

// Throws Error where `free` bytes in the folder are too few for what is still to be fetched; files
// of unknown size count as nothing.
void check_space(const std::vector<Download>& downloads, const std::filesystem::path& folder,
                 std::optional<int64_t> free);

}  // namespace exprun
