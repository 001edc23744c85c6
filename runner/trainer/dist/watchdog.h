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

// Collectives that a device has been asked for, which it ends one after another, and how long each
// has taken.

// Asked in the watch's threads; either throws if the device has failed.
struct FollowedCollective {
  std::function<bool()> has_begun;  // the device has done what it was asked for before
  std::function<bool()> has_ended;
};

class DeviceQueue {
 public:
  explicit DeviceQueue(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  void follow(FollowedCollective collective);

  // Why the first of them will not end, or nothing. Its time counts from when it was first seen to
  // have begun with those before it ended: the device may have a minute's work before it. Asks the
  // device, which may hang: nothing is locked meanwhile, and one caller looks at a time.
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

// The end of a backend that may not end: a driver or a network that hangs must not hold this rank.

// Asks the backend to drop what it has under way; what it throws is of no more interest. If it has
// not returned within five seconds, neither would anything after it: says so, with the trouble
// that this was for, and ends the process at once with ExitCode::lost_ranks.
void abort_or_exit(const std::string& trouble, std::function<void()> abort);

}  // namespace exprun
