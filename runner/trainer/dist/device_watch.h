// Collectives between GPUs, which no thread waits for: a kernel whose other rank is gone would
// never end, and everything that waits for the device with it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "dist/device_queue.h"
#include "dist/peers.h"

namespace exprun {

class DeviceWatch {
 public:
  // Looks some times a second, in threads of its own. A collective that fails, or that the device
  // has not ended within the time-out of having come to it, a device that does not answer as long,
  // and a rank that is gone, are the end: the others hear it, and `abort` then makes the device end
  // what it runs, or the process ends (abort_or_exit).
  DeviceWatch(std::unique_ptr<Peers> peers, std::chrono::milliseconds timeout,
              std::function<void()> abort);
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // The next collective of the device.
  void follow(FollowedCollective collective);

  // Why the device's results must not be believed, or nothing. When the device has ended what it
  // was asked to, failures of that have been noticed.
  std::string trouble() const;

  // Looks no more; the others hear how this rank goes.
  void leave(Peers::Word word);

 private:
  void run();
  std::string look();
  std::string look_at_device();
  void give_up(const std::string& trouble);
  bool has_ended() const;

  const std::unique_ptr<Peers> peers_;
  const std::chrono::milliseconds timeout_;
  const std::function<void()> abort_;
  const std::shared_ptr<DeviceQueue> collectives_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string trouble_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace exprun
