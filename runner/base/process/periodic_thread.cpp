#include "base/process/periodic_thread.h"

#include <algorithm>

namespace exprun {
namespace {

constexpr std::chrono::hours kLongest{24 * 365};  // more does not fit into a clock

}  // namespace

PeriodicThread::PeriodicThread(std::chrono::duration<double> period, std::function<void()> body)
    : period_(std::min<std::chrono::duration<double>>(period, kLongest)),
      body_(std::move(body)),
      thread_([this] { work(); }) {}

PeriodicThread::~PeriodicThread() {
  {
    std::lock_guard guard(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void PeriodicThread::work() {
  body_();
  for (bool last = false; !last;) {
    {
      std::unique_lock guard(mutex_);
      last = wake_.wait_for(guard, period_, [&] { return ending_; });
    }
    body_();
  }
}

}  // namespace exprun
