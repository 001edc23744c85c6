#include "dist/device_watch.h"

#include <exception>

#include "base/log.h"
#include "dist/failure.h"

namespace exprun {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPeriod{200};

}  // namespace

DeviceWatch::DeviceWatch(std::unique_ptr<Peers> peers, std::chrono::milliseconds timeout,
                         std::function<void()> abort)
    : peers_(std::move(peers)),
      timeout_(timeout),
      abort_(std::move(abort)),
      thread_([this] { run(); }) {}

DeviceWatch::~DeviceWatch() {
  leave(Peers::Word::failed);
}

void DeviceWatch::follow(std::function<bool()> has_ended) {
  const std::lock_guard<std::mutex> lock(mutex_);
  under_way_.push_back({std::move(has_ended), Clock::now()});
}

std::string DeviceWatch::trouble() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return trouble_;
}

void DeviceWatch::leave(Peers::Word word) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  peers_->leave(word);
}

void DeviceWatch::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kPeriod, [this] { return ended_; })) {
    trouble_ = look();
    if (trouble_.empty()) continue;
    // Whoever waits for the device finds the trouble when it returns.
    lock.unlock();
    try {
      abort_();
    } catch (const std::exception& error) {
      log(LogLevel::debug, std::string("dist: ") + error.what());
    }
    peers_->leave(Peers::Word::failed);
    return;
  }
}

std::string DeviceWatch::look() {
  const std::string of_peers = peers_->look();
  return of_peers.empty() ? look_at_collectives() : of_peers;
}

// The device ends them one after another.
std::string DeviceWatch::look_at_collectives() {
  const auto now = Clock::now();
  try {
    while (!under_way_.empty() && under_way_.front().has_ended()) {
      under_way_.pop_front();
      if (!under_way_.empty()) under_way_.front().since = now;
    }
  } catch (const std::exception& error) {
    return first_sentence(error.what());
  }
  if (under_way_.empty() || now - under_way_.front().since < timeout_) return "";
  return "it has not ended within " +
         std::to_string(std::chrono::ceil<std::chrono::seconds>(timeout_).count()) + " s";
}

}  // namespace exprun
