// One file from the net: into "<file>.part", gone on with where it stopped, checked, then renamed.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

namespace exprun {

struct Download {
  std::string address;
  std::filesystem::path file;
  int64_t bytes = 0;    // 0: not known
  std::string sha256;   // empty: not known
  bool tokens = false;  // a token shard
};

struct DownloadOptions {
  int retries = 5;
  double first_wait = 0.5;  // seconds before the first retry; each next one waits twice as long
};

// Whether the file is there and whole (size, and checksum where it is known).
bool is_downloaded(const Download& download);

// `received` grows as bytes arrive. Throws Error: no such file on the server, wrong bytes, or no
// answer after all retries; what arrived stays for the next call, unless it was wrong. Returns at
// once, without the file, when a stop was requested.
void download(const Download& download, const DownloadOptions& options,
              std::atomic<int64_t>& received);

}  // namespace exprun
