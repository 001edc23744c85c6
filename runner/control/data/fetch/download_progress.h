// How far downloads are, while they arrive.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace exprun {

// Of several files together, in bytes.
struct DownloadProgress {
  std::atomic<int64_t> received{0};
  std::atomic<int64_t> expected{0};  // by the catalogue, and then by what the servers say
};

// What one of them adds to it.
class FileProgress {
 public:
  // `expected` of this file is in `all` already.
  FileProgress(DownloadProgress& all, int64_t expected) : all_(all), expected_(expected) {}

  // Less than nothing for what is begun again.
  void receive(int64_t bytes) { all_.received += bytes; }
  // The server says how large the file is.
  void expect(int64_t bytes) { all_.expected += bytes - std::exchange(expected_, bytes); }

 private:
  DownloadProgress& all_;
  int64_t expected_;
};

}  // namespace exprun
