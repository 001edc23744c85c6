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
      uint64_t round = 0;
      {
        std::unique_lock guard(mutex);
        wake.wait_for(guard, kCommitPeriod, [&] { return stopping || wanted_round > done_round; });
        last_round = stopping;
        round = wanted_round;
        drain();
      }
      session.store(last_round);
      std::lock_guard guard(mutex);
      done_round = round;
      progress.notify_all();
    }
  }

  // Under the mutex: whoever waits for room in the ring finds it at once.
  void drain() {
    session.names().insert(session.names().end(),
                           names.begin() + static_cast<std::ptrdiff_t>(session.names().size()),
                           names.end());
    ring.drain(session.points());
    session.points().insert(session.points().end(), posted.begin(), posted.end());
    posted.clear();
    progress.notify_all();
  }

  // A round that begins from now on, without waiting for the period.
  uint64_t ask_for_round() {
    ++wanted_round;
    wake.notify_one();
    return wanted_round;
  }

  void wait_for_room(size_t count) {
    std::unique_lock guard(mutex);
    ask_for_round();
    progress.wait(guard, [&] { return ring.has_room(count); });
  }

  int64_t time_ms() const { return monotonic_ms() + time_offset; }

  MetricSession session;
  const int64_t time_offset;  // from monotonic_ms() to milliseconds since the run's first start
  MetricRing ring{kRingPoints};
  std::mutex mutex;
  std::condition_variable wake;      // of the thread
  std::condition_variable progress;  // of whoever waits for it
  std::vector<SeriesName> names;
  std::vector<MetricPoint> posted;
  uint64_t wanted_round = 0;  // of work(): the newest that somebody asked for
  uint64_t done_round = 0;    // what was there when it began is safe
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
  const int64_t time_ms = impl_->time_ms();
  for (size_t i = 0; i < points.size(); ++i) {
    ring.slot(i) = {step, time_ms, points[i].value, points[i].series};
  }
  ring.publish(points.size());
}

void MetricWriter::post(int64_t step, std::span<const Point> points) {
  std::lock_guard guard(impl_->mutex);
  for (const Point& point : points)
    impl_->posted.push_back({step, impl_->time_ms(), point.value, point.series});
}

void MetricWriter::flush() {
  std::unique_lock guard(impl_->mutex);
  const uint64_t round = impl_->ask_for_round();
  impl_->progress.wait(guard, [&] { return impl_->done_round >= round; });
}

}  // namespace exprun
