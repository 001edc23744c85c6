// Batches ahead of need: while a step computes, one thread reads what the next step will ask for
// (pages from the disk, tokens widened to int64) and has it copied to the device. Batches are pure
// functions of their place, so a wrong guess costs time only.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/data/device_copy.h"
#include "engine/dataset.h"

namespace exprun {

class LookAhead {
 public:
  using Read = std::function<Batch(int64_t first_sample, int64_t count)>;

  // `read` gives batches on the CPU. Each begins `stride` samples behind the one before: other
  // ranks read what lies between.
  LookAhead(Read read, int64_t stride, at::Device device = at::kCPU);
  ~LookAhead();

  // The batch on the device, and the thread goes on to the next of the same size. Throws what
  // reading throws.
  Batch take(int64_t first_sample, int64_t count);

 private:
  struct Place {
    int64_t first_sample, count;
    bool operator==(const Place&) const = default;
  };

  DeviceCopy copy(int64_t first_sample, int64_t count) const;
  void run();

  const Read read_;
  const int64_t stride_;
  const CopyStream stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Place> asked_;  // what the thread reads, or has read
  std::optional<DeviceCopy> batch_;
  std::exception_ptr failure_;
  bool begun_ = false, ended_ = false;
  std::thread thread_;
};

}  // namespace exprun
