// Collectives between GPUs, which no thread waits for: a kernel whose other rank is gone would
// never end, and everything that waits for the device with it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "dist/peers.h"

namespace exprun {

class DeviceWatch {
 public:
  // Looks some times a second, in a thread of its own. A collective that fails, or that the device
  // has not ended within the time-out of having ended the one before, and a rank that is gone, are
  // the end: `abort` then makes the device end what it runs.
  DeviceWatch(std::unique_ptr<Peers> peers, std::chrono::milliseconds timeout,
              std::function<void()> abort);
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // The next collective of the device. Asked whether it has ended; throws if it has failed.
  void follow(std::function<bool()> has_ended);

  // Why the device's results must not be believed, or nothing. When the device has ended what it
  // was asked to, failures of that have been noticed.
  std::string trouble() const;

  // Looks no more; the others hear how this rank goes.
  void leave(Peers::Word word);

 private:
  void run();
  std::string look();
  std::string look_at_collectives();

  struct Followed {
    std::function<bool()> has_ended;
    std::chrono::steady_clock::time_point since;
  };
  const std::unique_ptr<Peers> peers_;
  const std::chrono::milliseconds timeout_;
  const std::function<void()> abort_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Followed> under_way_;
  std::string trouble_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace exprun
