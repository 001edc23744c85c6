#include "store/metric_session.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "store/query.h"

namespace exprun {
namespace {

constexpr std::chrono::milliseconds kPatience{5'000};         // with the lock, when all is well
constexpr std::chrono::milliseconds kPatienceInTrouble{100};  // the ring must not fill up
constexpr std::chrono::seconds kBeatPeriod{5};                // a sign of life at least this often
constexpr std::chrono::seconds kTroublePeriod{1};  // between two tries of a store in trouble
constexpr size_t kMostPointsInMemory = 1 << 20;    // 32 MB, when there is no journal either

}  // namespace

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
  log_info("store: '" + file_.string() + "' takes metrics again; " +
           (dropped_ == 0 ? "none was lost" : std::to_string(dropped_) + " values were lost"));
}

void MetricSession::limit_memory() {
  if (points_.size() <= kMostPointsInMemory) return;
  const size_t excess = points_.size() - kMostPointsInMemory;
  points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(excess));
  if (dropped_ == 0) log_warning("store: memory for metrics is used up; the oldest are dropped");
  dropped_ += static_cast<int64_t>(excess);
}

}  // namespace exprun
