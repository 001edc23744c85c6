// One producer, one consumer, fixed size. What is pushed together is seen together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/metric_batch.h"

namespace exprun {

class MetricRing {
 public:
  // `capacity` is a power of two. All memory is touched here, so that pushing never faults.
  explicit MetricRing(size_t capacity) : slots_(capacity), mask_(capacity - 1) {}

  size_t capacity() const { return slots_.size(); }

  // Producer: whether `count` points fit. Asks the consumer's side only when it must.
  bool has_room(size_t count) {
    const uint64_t needed = head_.load(std::memory_order_relaxed) + count;
    if (needed - known_tail_ <= slots_.size()) return true;
    known_tail_ = tail_.load(std::memory_order_acquire);
    return needed - known_tail_ <= slots_.size();
  }

  // Producer, after has_room: the slot of the i-th point after the last publish().
  MetricPoint& slot(size_t i) {
    return slots_[(head_.load(std::memory_order_relaxed) + i) & mask_];
  }
  void publish(size_t count) {
    head_.store(head_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }

  // Consumer: moves everything published to the end of `points`.
  void drain(std::vector<MetricPoint>& points) {
    const uint64_t head = head_.load(std::memory_order_acquire);
    for (uint64_t i = tail_.load(std::memory_order_relaxed); i != head; ++i) {
      points.push_back(slots_[i & mask_]);
    }
    tail_.store(head, std::memory_order_release);
  }

 private:
  static constexpr size_t kCacheLine = 64;

  std::vector<MetricPoint> slots_;
  size_t mask_;
  alignas(kCacheLine) std::atomic<uint64_t> head_{0};
  uint64_t known_tail_ = 0;  // the producer's copy
  alignas(kCacheLine) std::atomic<uint64_t> tail_{0};
};

}  // namespace exprun
