#include "store/metrics/metric_writer.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "store/database/connection.h"
#include "store/metrics/metric_batch.h"
#include "store/metrics/metric_journal.h"

namespace exprun {
namespace {

// The writer's side of MetricWriter: brings batches into the store, or into the journal while the
// store cannot take them, and tries the store again from time to time. Nothing here throws.
class MetricSession {
 public:
  // Throws Error when the store or the run is not there: that is before training.
  MetricSession(std::filesystem::path store_file, int64_t run);

  int64_t run_started_ms() const { return run_started_ms_; }

  std::vector<SeriesName>& names() { return names_; }
  std::vector<MetricPoint>& points() { return points_; }  // what is not yet safe

  // Makes points() safe, and gives a sign of life when one is due. What is not safe after the last
  // chance is lost, and said to be.
  void store(bool last_chance);

 private:
  using Clock = std::chrono::steady_clock;

  void open();
  void write();
  void write_to_journal();
  void begin_trouble(const std::string& reason);
  void end_trouble();
  void limit_memory();
  void report_loss();

  std::filesystem::path file_;
  int64_t run_;
  int64_t attempt_ = 0;
  int64_t run_started_ms_ = 0;
  std::string run_uid_;
  std::unique_ptr<Connection> connection_;
  std::optional<MetricJournal> journal_;
  std::vector<SeriesName> names_;
  std::vector<MetricPoint> points_;
  int64_t last_step_ = 0;
  Clock::time_point next_beat_;
  bool in_trouble_ = false;
  Clock::time_point next_try_;
  bool journal_in_trouble_ = false;
  int64_t dropped_ = 0;
};

constexpr std::chrono::milliseconds kPatience{5'000};         // with the lock, when all is well
constexpr std::chrono::milliseconds kPatienceInTrouble{100};  // the ring must not fill up
constexpr std::chrono::seconds kBeatPeriod{5};                // a sign of life at least this often
constexpr std::chrono::seconds kTroublePeriod{1};  // between two tries of a store in trouble
constexpr size_t kMostPointsInMemory = 1 << 20;    // 32 MB, when there is no journal either

MetricSession::MetricSession(std::filesystem::path store_file, int64_t run)
    : file_(std::move(store_file)), run_(run), next_beat_(Clock::now() + kBeatPeriod) {
  open();
  journal_.emplace(file_, run_uid_, attempt_);
}

void MetricSession::open() {
  auto connection = std::make_unique<Connection>(file_, Connection::Mode::read_write);
  connection->guarded("read", [&] {
    Query query(*connection, "SELECT uid, attempt, started_ms FROM run WHERE id = ?", run_);
    if (!query.step() || (!run_uid_.empty() && query.text(0) != run_uid_)) {
      throw store_error("record metrics in", file_, "it has no run " + std::to_string(run_));
    }
    if (!run_uid_.empty()) return;  // it goes on as the attempt that it began as
    run_uid_ = query.text(0);
    attempt_ = query.integer(1);
    run_started_ms_ = query.integer(2);
  });
  connection_ = std::move(connection);
}

void MetricSession::store(bool last_chance) {
  if (points_.empty() && Clock::now() < next_beat_ && !(last_chance && in_trouble_)) return;
  last_step_ = 0;  // the store keeps the newest, and a rollback makes it less
  for (const MetricPoint& point : points_) last_step_ = std::max(last_step_, point.step);
  if (in_trouble_ && Clock::now() < next_try_ && !last_chance) {
    write_to_journal();
    return;
  }
  try {
    write();
    end_trouble();
  } catch (const std::exception& error) {
    begin_trouble(error.what());
    write_to_journal();
  }
  if (last_chance) report_loss();
}

void MetricSession::write() {
  if (connection_ && connection_->file_has_moved()) connection_.reset();
  if (!connection_) open();
  connection_->set_patience(in_trouble_ ? kPatienceInTrouble : kPatience);
  journal_->take_in(*connection_);
  connection_->write("record metrics in", Connection::Durability::written, [&] {
    write_batch(*connection_, run_, attempt_, names_, points_);
    write_beat(*connection_, run_, attempt_, last_step_, now_ms());
  });
  points_.clear();
  next_beat_ = Clock::now() + kBeatPeriod;
}

void MetricSession::write_to_journal() {
  if (points_.empty()) return;
  try {
    journal_->append(names_, points_);
    points_.clear();
    journal_in_trouble_ = false;
  } catch (const std::exception& error) {
    if (!journal_in_trouble_) {
      log_warning(std::string(error.what()) + " (metrics are kept in memory meanwhile)");
    }
    journal_in_trouble_ = true;
    limit_memory();
  }
}

void MetricSession::begin_trouble(const std::string& reason) {
  if (!in_trouble_) {
    log_warning(reason + "; training goes on, metrics go to '" + journal_->file().string() + "'");
  }
  in_trouble_ = true;
  next_try_ = Clock::now() + kTroublePeriod;
  connection_.reset();
}

void MetricSession::end_trouble() {
  if (!in_trouble_) return;
  in_trouble_ = false;
  log_info("store: '" + file_.string() + "' can be written to again; " +
           (dropped_ == 0 ? "none was lost" : std::to_string(dropped_) + " values were lost"));
  dropped_ = 0;
}

void MetricSession::limit_memory() {
  if (points_.size() <= kMostPointsInMemory) return;
  const size_t excess = points_.size() - kMostPointsInMemory;
  points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(excess));
  if (dropped_ == 0) log_warning("store: memory for metrics is used up; the oldest are dropped");
  dropped_ += static_cast<int64_t>(excess);
}

void MetricSession::report_loss() {
  const int64_t lost = dropped_ + static_cast<int64_t>(points_.size());
  if (!in_trouble_ || lost == 0) return;
  log_warning("store: " + pluralize(lost, "value") + " of metrics " + (lost == 1 ? "was" : "were") +
              " lost: neither '" + file_.string() + "' nor '" + journal_->file().string() +
              "' could be written");
}

// One producer, one consumer, fixed size. What is pushed together is seen together.
class MetricRing {
 public:
  // `capacity` is a power of two. All memory is touched here, so that pushing never faults.
  explicit MetricRing(size_t capacity) : slots_(capacity), mask_(capacity - 1) {}

  size_t capacity() const { return slots_.size(); }

  // Producer: whether `count` points fit. Asks the consumer's side only when it must.
  bool has_room(size_t count) {
    const uint64_t needed = head_.load(std::memory_order_relaxed) + count;
    if (needed - known_tail_ <= slots_.size()) return true;
    known_tail_ = tail_.load(std::memory_order_acquire);
    return needed - known_tail_ <= slots_.size();
  }

  // Producer, after has_room: the slot of the i-th point after the last publish().
  MetricPoint& slot(size_t i) {
    return slots_[(head_.load(std::memory_order_relaxed) + i) & mask_];
  }
  void publish(size_t count) {
    head_.store(head_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }

  // Consumer: moves everything published to the end of `points`.
  void drain(std::vector<MetricPoint>& points) {
    const uint64_t head = head_.load(std::memory_order_acquire);
    for (uint64_t i = tail_.load(std::memory_order_relaxed); i != head; ++i) {
      points.push_back(slots_[i & mask_]);
    }
    tail_.store(head, std::memory_order_release);
  }

 private:
  static constexpr size_t kCacheLine = 64;

  std::vector<MetricPoint> slots_;
  size_t mask_;
  alignas(kCacheLine) std::atomic<uint64_t> head_{0};
  uint64_t known_tail_ = 0;  // the producer's copy
  alignas(kCacheLine) std::atomic<uint64_t> tail_{0};
};

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
