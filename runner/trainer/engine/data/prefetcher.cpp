#include "engine/data/prefetcher.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <signal.h>

#include <utility>

namespace exprun {

Batch DeviceCopy::arrived() && {
  if (!copied_) return std::move(batch_);
  const c10::impl::VirtualGuardImpl of_type(copied_->device_type());
  const c10::Stream computing = of_type.getStream(batch_.inputs.device());
  copied_->block(computing);
  // Their memory belongs to the stream that copied: without this it would be given to the next copy
  // while the computation still reads it.
  for (const at::Tensor* tensor :
       {&batch_.inputs, &batch_.targets, &batch_.positions, &batch_.learned})
    if (tensor->defined()) of_type.recordDataPtrOnStream(tensor->storage().data_ptr(), computing);
  return std::move(batch_);
}

CopyStream::CopyStream(at::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl of_type(device.type());
  stream_ = std::make_shared<c10::Stream>(of_type.getStreamFromGlobalPool(device));
}

DeviceCopy CopyStream::copy(const Batch& batch) const {
  if (!stream_) return {batch, nullptr};
  const c10::StreamGuard guard(*stream_);
  Batch there = batch.on(stream_->device());
  const auto copied = std::make_shared<c10::Event>(stream_->device_type());
  copied->record(*stream_);
  return {std::move(there), copied};
}

namespace {

// Signals are the business of the thread that trains.
sigset_t block_all_signals() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  return before;
}

}  // namespace

Prefetcher::Prefetcher(Read read, int64_t stride, at::Device device)
    : read_(std::move(read)), stride_(stride), stream_(device) {}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Batch Prefetcher::take(int64_t first_sample, int64_t count) {
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

DeviceCopy Prefetcher::copy(int64_t first_sample, int64_t count) const {
  return stream_.copy(read_(first_sample, count));
}

void Prefetcher::run() {
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
