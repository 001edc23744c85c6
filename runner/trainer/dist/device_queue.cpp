#include "dist/device_queue.h"

#include <exception>
#include <utility>

#include "dist/failure.h"

namespace exprun {

void DeviceQueue::follow(FollowedCollective collective) {
  auto followed = std::make_shared<Followed>(Followed{std::move(collective)});
  const std::lock_guard<std::mutex> lock(mutex_);
  under_way_.push_back(std::move(followed));
}

std::shared_ptr<DeviceQueue::Followed> DeviceQueue::first() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return under_way_.empty() ? nullptr : under_way_.front();
}

std::string DeviceQueue::look() {
  try {
    while (const auto followed = first()) {
      if (!followed->collective.has_ended()) {
        if (!is_late(*followed)) return "";
        return "it has not ended within " +
               std::to_string(std::chrono::ceil<std::chrono::seconds>(timeout_).count()) + " s";
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      under_way_.pop_front();
    }
    return "";
  } catch (const std::exception& error) {
    return first_sentence(error.what());
  }
}

bool DeviceQueue::is_late(Followed& followed) const {
  if (followed.since != Clock::time_point{}) return Clock::now() - followed.since >= timeout_;
  if (followed.collective.has_begun()) followed.since = Clock::now();
  return false;
}

}  // namespace exprun
