#include "store/metric_writer.h"

#include <time.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/clock.h"
#include "store/metric_ring.h"
#include "store/metric_session.h"

namespace exprun {
namespace {

constexpr size_t kRingPoints = 1 << 16;
constexpr std::chrono::milliseconds kCommitPeriod{250};

// A few milliseconds coarse, and never a system call.
int64_t monotonic_ms() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * int64_t{1000} + now.tv_nsec / 1'000'000;
}

}  // namespace

struct MetricWriter::Impl {
  Impl(const std::filesystem::path& store_file, int64_t run)
      : session(store_file, run),
        time_offset(now_ms() - session.run_started_ms() - monotonic_ms()),
        thread([this] { work(); }) {}

  ~Impl() {
    {
      std::lock_guard guard(mutex);
      stopping = true;
    }
    wake.notify_one();
    thread.join();
  }

  void work() {
    bool last_round = false;
    while (!last_round) {
      uint64_t safe = 0;
      {
        std::unique_lock guard(mutex);
        wake.wait_for(guard, kCommitPeriod, [&] { return stopping || wanted > acknowledged; });
        last_round = stopping;
        safe = drain();
      }
      session.store(last_round);
      std::lock_guard guard(mutex);
      acknowledged = safe;
      progress.notify_all();
    }
  }

  // Under the mutex: whoever waits for room in the ring finds it at once.
  uint64_t drain() {
    session.names().insert(session.names().end(),
                           names.begin() + static_cast<std::ptrdiff_t>(session.names().size()),
                           names.end());
    const uint64_t drained = ring.drain(session.points());
    progress.notify_all();
    return drained;
  }

  void wait_for_room(size_t count) {
    std::unique_lock guard(mutex);
    wanted = ring.pushed();
    wake.notify_one();
    progress.wait(guard, [&] { return ring.has_room(count); });
  }

  MetricSession session;
  const int64_t time_offset;  // from monotonic_ms() to milliseconds since the run's first start
  MetricRing ring{kRingPoints};
  std::mutex mutex;
  std::condition_variable wake;      // of the thread
  std::condition_variable progress;  // of whoever waits for it
  std::vector<SeriesName> names;
  uint64_t wanted = 0;        // ring positions: to be made safe without waiting for the period
  uint64_t acknowledged = 0;  // safe
  bool stopping = false;
  std::thread thread;  // the last member: it uses all others
};

MetricWriter::MetricWriter(const std::filesystem::path& store_file, int64_t run)
    : impl_(std::make_unique<Impl>(store_file, run)) {}

MetricWriter::~MetricWriter() = default;

MetricWriter::Series MetricWriter::series(const std::string& name, bool timing) {
  std::lock_guard guard(impl_->mutex);
  auto& names = impl_->names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].name != name) continue;
    if (names[i].timing != timing) {
      throw std::logic_error("store: series '" + name + "' is both timing and not");
    }
    return static_cast<Series>(i);
  }
  names.push_back({name, timing});
  return static_cast<Series>(names.size() - 1);
}

void MetricWriter::push(int64_t step, std::span<const Point> points) {
  MetricRing& ring = impl_->ring;
  if (points.size() > ring.capacity()) {
    throw std::logic_error("store: more points in a step than the ring holds");
  }
  if (!ring.has_room(points.size())) impl_->wait_for_room(points.size());
  const int64_t time_ms = monotonic_ms() + impl_->time_offset;
  for (size_t i = 0; i < points.size(); ++i) {
    ring.slot(i) = {step, time_ms, points[i].value, points[i].series};
  }
  ring.publish(points.size());
}

void MetricWriter::flush() {
  Impl& impl = *impl_;
  const uint64_t target = impl.ring.pushed();
  std::unique_lock guard(impl.mutex);
  impl.wanted = std::max(impl.wanted, target);
  impl.wake.notify_one();
  impl.progress.wait(guard, [&] { return impl.acknowledged >= target; });
}

}  // namespace exprun
