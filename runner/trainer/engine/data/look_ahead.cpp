#include "engine/data/look_ahead.h"

#include <signal.h>

#include <utility>

namespace exprun {
namespace {

// Signals are the business of the thread that trains.
sigset_t block_all_signals() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  return before;
}

}  // namespace

LookAhead::LookAhead(Read read, int64_t stride, at::Device device)
    : read_(std::move(read)), stride_(stride), stream_(device) {}

LookAhead::~LookAhead() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Batch LookAhead::take(int64_t first_sample, int64_t count) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto finished = [this] { return !asked_ || batch_ || failure_; };
  changed_.wait(lock, finished);
  const bool guessed = asked_ == Place{first_sample, count} && batch_;
  // A failure ahead of need is nobody's yet: reading again throws it where it belongs.
  DeviceCopy batch = guessed ? std::move(*batch_) : copy(first_sample, count);
  batch_.reset();
  failure_ = nullptr;
  asked_ = Place{first_sample + stride_, count};
  begun_ = false;
  if (!thread_.joinable()) {
    const sigset_t before = block_all_signals();
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  lock.unlock();
  changed_.notify_all();
  return std::move(batch).arrived();
}

DeviceCopy LookAhead::copy(int64_t first_sample, int64_t count) const {
  return stream_.copy(read_(first_sample, count));
}

void LookAhead::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ended_ || (asked_ && !begun_); });
    if (ended_) return;
    begun_ = true;
    const Place place = *asked_;
    lock.unlock();
    std::optional<DeviceCopy> batch;
    std::exception_ptr failure;
    try {
      batch = copy(place.first_sample, place.count);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    batch_ = std::move(batch);
    failure_ = failure;
    changed_.notify_all();
  }
}

}  // namespace exprun
