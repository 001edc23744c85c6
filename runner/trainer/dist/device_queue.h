// Collectives that a device has been asked for, which it ends one after another, and how long each
// has taken.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace exprun {

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

}  // namespace exprun
