// Watches collectives between GPUs: a kernel whose other rank is gone would never end, nor would
// anything that waits for the device.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "dist/failures/peers.h"

namespace exprun {

// Called in the watch's threads; either throws if the device has failed.
struct FollowedCollective {
  std::function<bool()> has_begun;  // the device has finished the work queued before it
  std::function<bool()> has_ended;
};

// The collectives queued on a device, which finishes them one after another.
class DeviceQueue {
 public:
  explicit DeviceQueue(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  void follow(FollowedCollective collective);

  // Why the first of them will not end, or nothing. Its time counts from when it was first seen to
  // have begun, after those before it had ended: the device may have a minute of work before it.
  // Asks the device, which may hang: no lock is held meanwhile, and only one caller may look at a
  // time.
  std::string look();

 private:
  using Clock = std::chrono::steady_clock;
  struct Followed {
    FollowedCollective collective;
    Clock::time_point since = {};  // of one that has begun
  };
  std::shared_ptr<Followed> first();
  bool is_late(Followed& followed) const;

  const std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Followed>> under_way_;
};

class DeviceWatch {
 public:
  // Looks some times a second, in threads of its own. There is trouble when a collective fails, or
  // takes longer than the time-out once the device has begun it, when the device does not answer
  // for that long, and when a rank is gone. The watch then tells the other ranks, and calls
  // `abort`, which makes the device end what it runs; if that hangs, the process ends
  // (abort_or_exit).
  DeviceWatch(std::unique_ptr<Peers> peers, std::chrono::milliseconds timeout,
              std::function<void()> abort);
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // The next collective of the device.
  void follow(FollowedCollective collective);

  // Why the device's results must not be used, or nothing. Once the device has finished its work,
  // failures of that work have been noticed.
  std::string trouble() const;

  // Stops looking, and sends the other ranks this rank's last status.
  void leave(Peers::Status status);

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

// Calls `abort`, which makes a backend drop its collectives; what that throws is only logged. A
// driver or a network that hangs must not hold this rank: if `abort` has not returned within five
// seconds, this logs that with `trouble`, its cause, and ends the process at once with
// ExitCode::lost_ranks.
void abort_or_exit(const std::string& trouble, std::function<void()> abort);

}  // namespace exprun
