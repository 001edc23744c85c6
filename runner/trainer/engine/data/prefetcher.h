// Batches ahead of need: while a step computes, one thread reads what the next step will ask for
// (pages from the disk, tokens widened to int64) and has it copied to the device. Batches are pure
// functions of their place, so a wrong guess costs time only.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "engine/dataset.h"

namespace c10 {
struct Event;
class Stream;
}  // namespace c10

namespace exprun {

// Batches on their way to a GPU: it copies them on a stream of its own, beside what it computes, so
// that any thread may have that done ahead of need. A CPU's are handed over as they are.

// A batch that is being copied.
class DeviceCopy {
 public:
  // The batch, for the thread that computes: what its stream is asked to do from now on waits for
  // the copy, the thread does not.
  Batch arrived() &&;

 private:
  friend class CopyStream;
  DeviceCopy(Batch batch, std::shared_ptr<const c10::Event> copied)
      : batch_(std::move(batch)), copied_(std::move(copied)) {}

  Batch batch_;                               // on the device
  std::shared_ptr<const c10::Event> copied_;  // null on a CPU
};

class CopyStream {
 public:
  explicit CopyStream(at::Device device);

  // Of a batch on the CPU, in pinned memory if the device is a GPU. Any thread.
  DeviceCopy copy(const Batch& batch) const;

 private:
  std::shared_ptr<const c10::Stream> stream_;  // null on a CPU
};

class Prefetcher {
 public:
  using Read = std::function<Batch(int64_t first_sample, int64_t count)>;

  // `read` gives batches on the CPU. Each begins `stride` samples after the one before: other
  // ranks read what lies between.
  Prefetcher(Read read, int64_t stride, at::Device device = at::kCPU);
  ~Prefetcher();

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
