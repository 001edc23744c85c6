// A thread that does something at once, then from time to time, and once more at its end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace exprun {

class PeriodicThread {
 public:
  // `body` must not throw.
  PeriodicThread(std::chrono::duration<double> period, std::function<void()> body);
  // Does not wait for the period to be over.
  ~PeriodicThread();
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

 private:
  void work();

  const std::chrono::duration<double> period_;
  const std::function<void()> body_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;  // the last member: it uses all others
};

}  // namespace exprun
