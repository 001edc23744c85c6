// Batches on their way to a GPU: it copies them on a stream of its own, beside what it computes, so
// that any thread may have that done ahead of need. A CPU's are handed over as they are.
#pragma once

#include <memory>
#include <utility>

#include "engine/dataset.h"

namespace c10 {
struct Event;
class Stream;
}  // namespace c10

namespace exprun {

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

}  // namespace exprun
