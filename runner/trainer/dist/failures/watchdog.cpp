#include "dist/failures/watchdog.h"

#include <cstdlib>
#include <exception>
#include <utility>

#include "base/diagnostic.h"
#include "base/log.h"
#include "dist/failures/failure.h"

namespace exprun {
namespace {

constexpr std::chrono::seconds kAbortTakes{5};

}  // namespace

void abort_or_exit(const std::string& trouble, std::function<void()> abort) {
  try {
    const auto returned = within(kAbortTakes, [abort = std::move(abort)] {
      abort();
      return true;
    });
    if (returned) return;
  } catch (const std::exception& error) {
    log(LogLevel::debug, std::string("dist: ") + error.what());
    return;
  }
  log(LogLevel::error, "dist: " + trouble + "; pending exchanges could not be aborted " +
                           "within " + std::to_string(kAbortTakes.count()) +
                           " s; this rank exits immediately");
  std::_Exit(static_cast<int>(ExitCode::lost_ranks));
}

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
        return "the exchange did not finish within " +
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

namespace {

constexpr std::chrono::milliseconds kPeriod{200};

}  // namespace

DeviceWatch::DeviceWatch(std::unique_ptr<Peers> peers, std::chrono::milliseconds timeout,
                         std::function<void()> abort)
    : peers_(std::move(peers)),
      timeout_(timeout),
      abort_(std::move(abort)),
      collectives_(std::make_shared<DeviceQueue>(timeout)),
      thread_([this] { run(); }) {}

DeviceWatch::~DeviceWatch() {
  leave(Peers::Status::failed);
}

void DeviceWatch::follow(FollowedCollective collective) {
  collectives_->follow(std::move(collective));
}

std::string DeviceWatch::trouble() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return trouble_;
}

void DeviceWatch::leave(Peers::Status status) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  peers_->leave(status);
}

void DeviceWatch::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kPeriod, [this] { return ended_; })) {
    lock.unlock();
    const std::string trouble = look();
    lock.lock();
    // Whoever waits for the device finds the trouble when it returns.
    trouble_ = trouble;
    if (trouble.empty()) continue;
    lock.unlock();
    give_up(trouble);
    return;
  }
}

// An exception of its own, such as the lack of memory, is trouble too.
std::string DeviceWatch::look() {
  try {
    const std::string of_peers = peers_->look();
    return of_peers.empty() ? look_at_device() : of_peers;
  } catch (const std::exception& error) {
    return first_sentence(error.what());
  }
}

// The device may hang, and the peers are looked at all the same.
std::string DeviceWatch::look_at_device() {
  std::string of_peers;
  const auto of_collectives = within(
      timeout_, [collectives = collectives_] { return collectives->look(); },
      [&] {
        of_peers = peers_->look();
        return !of_peers.empty() || has_ended();
      });
  if (of_collectives) return *of_collectives;
  if (!of_peers.empty() || has_ended()) return of_peers;
  return "the GPU does not respond";
}

// The others first: nothing that the device does may keep them from hearing it.
void DeviceWatch::give_up(const std::string& trouble) {
  try {
    peers_->leave(Peers::Status::failed);
  } catch (const std::exception& error) {
    log(LogLevel::debug, std::string("dist: ") + error.what());
  }
  abort_or_exit(trouble, abort_);
}

bool DeviceWatch::has_ended() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ended_;
}

}  // namespace exprun
