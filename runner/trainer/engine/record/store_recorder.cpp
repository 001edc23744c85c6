#include "engine/record/store_recorder.h"

#include <array>
#include <span>

#include "base/clock.h"
#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "store/end_record.h"
#include "store/run_state.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// Trouble with the store never stops training; what is on disk counts for a resume. The metric
// writer has warned of it.
template <class Action>
void despite_store_trouble(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    log(LogLevel::debug, error.what());
  }
}

}  // namespace

std::string words_for(const StoredRun& run) {
  return shell_quoted(run.shown.path.filename().string()) +
         store_option(run.shown.path.parent_path());
}

void record_failure(const StoredRun& run, const std::string& message) {
  const EndRecord end{run.attempt, now_ms(), RunState::failed, {}, {}, message};
  record_in_store_or_lock_file(end, run.folder.lock(), [&] {
    Store store(run.store, Store::Access::read_write);
    store.record_event({run.id, now_ms(), "error", "end", message});
  });
}

void record_end(const StoredRun& run, ExitCode code, const std::string& message) {
  if (code == ExitCode::lost_ranks) code = ExitCode::failed;
  const EndRecord end{run.attempt, now_ms(), state_after(code), static_cast<int>(code),
                      {},          message};
  record_in_store_or_lock_file(end, run.folder.lock(), [&] {
    Store store(run.store, Store::Access::read_write);
    std::string why = message;
    for (const EventRow& event : store.events(run.id))  // the trainer may have said why
      if (message.empty() && event.kind == "end" && event.attempt == run.attempt) why = event.text;
    store.end_attempt(run.id, end.state, end.exit_code, {}, why);
  });
}

void record_libraries(const StoredRun& run, const std::string& json) {
  despite_store_trouble([&] {
    Store(run.store, Store::Access::read_write).record_libraries(run.id, run.attempt, json);
  });
}

StoreRecorder::StoreRecorder(const StoredRun& run, MetricWriter& metrics, int64_t metrics_every)
    : run_(run),
      metrics_(metrics),
      metrics_every_(metrics_every),
      store_(run.store, Store::Access::read_write),
      loss_(metrics.series("train/loss", false)),
      lr_(metrics.series("lr", false)),
      grad_norm_(metrics.series("grad_norm", false)),
      tokens_per_s_(metrics.series("tokens_per_s", true)),
      step_ms_(metrics.series("step_ms", true)) {}

void StoreRecorder::step(const StepRecord& record) {
  if (record.passed_over_batches) count_passed_over(record);
  if (record.step % metrics_every_ != 0) return;
  std::array<MetricWriter::Point, 6> points{{
      {loss_, record.loss},
      {lr_, record.lr},
      {grad_norm_, record.grad_norm},
      {tokens_per_s_, static_cast<double>(record.tokens) / record.seconds},
      {step_ms_, record.seconds * 1e3},
  }};
  size_t count = points.size() - 1;
  if (record.skipped_updates) {
    if (!skipped_updates_) skipped_updates_ = metrics_.series("skipped_updates", false);
    points[count++] = {*skipped_updates_, static_cast<double>(*record.skipped_updates)};
  }
  metrics_.push(record.step, std::span(points).first(count));
}

// Whoever asks which data a step had looks for the newest value up to that step.
void StoreRecorder::count_passed_over(const StepRecord& record) {
  if (record.step % metrics_every_ != 0 && passed_over_ == record.passed_over_batches) return;
  passed_over_ = record.passed_over_batches;
  if (!passed_over_batches_) passed_over_batches_ = metrics_.series("passed_over_batches", false);
  const MetricWriter::Point point{*passed_over_batches_, static_cast<double>(*passed_over_)};
  metrics_.push(record.step, std::span(&point, 1));
}

void StoreRecorder::rolled_back(const Position& position) {
  metrics_.flush();
  despite_store_trouble([&] { store_.roll_back(run_.id, position.step); });
}

void StoreRecorder::evaluation(int64_t step, const std::string& name,
                               const EvaluationResult& result) {
  std::vector<MetricWriter::Point> points;
  for (const auto& [metric, value] : result.metrics)
    points.push_back({metrics_.series(metric, false), value});
  if (!points.empty()) metrics_.push(step, points);
  if (!result.text.empty()) write_sample(step, name, result.text);
}

void StoreRecorder::write_sample(int64_t step, const std::string& name, const std::string& text) {
  const std::string suffix = name == "sample" ? "" : "_" + name;
  try {
    fs::create_directories(run_.folder.samples());
    write_file_atomically(run_.folder.samples() / (checkpoint_name(step) + suffix + ".txt"), text);
  } catch (const std::exception& error) {
    event("warning", "sample", error.what());
  }
}

void StoreRecorder::event(const std::string& level, const std::string& kind,
                          const std::string& text) {
  despite_store_trouble([&] { store_.record_event({run_.id, now_ms(), level, kind, text}); });
}

std::optional<double> StoreRecorder::last_value(const std::string& series) const {
  std::optional<double> last;
  despite_store_trouble([&] {
    for (const SeriesRow& row : store_.series(run_.id))
      if (row.name == series && row.count > 0) last = row.last;
  });
  return last;
}

StoreLedger::StoreLedger(const StoredRun& run, MetricWriter& metrics)
    : run_(run), metrics_(metrics), store_(run.store, Store::Access::read_write) {}

void StoreLedger::record(int64_t step, int64_t bytes) {
  const fs::path folder = run_.folder.checkpoints().filename() / checkpoint_name(step);
  despite_store_trouble([&] {
    store_.record_checkpoint({run_.id, step, run_.attempt, bytes, now_ms(), folder.string()});
  });
}

void StoreLedger::forget(int64_t step) {
  despite_store_trouble([&] { store_.forget_checkpoint(run_.id, step); });
}

}  // namespace exprun
