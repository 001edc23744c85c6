#include "engine/checkpoint/checkpoint_writer.h"

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/checkpoints.h"
#include "base/files/file_lock.h"
#include "base/log.h"
#include "engine/checkpoint/open_checkpoint.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// As far as they can be read: the checkpoint is durable already.
int64_t folder_bytes(const fs::path& folder) {
  int64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto size = entry->file_size(error);
    if (!error) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

// Never half there under its name: a process that dies on the way leaves what
// remove_unfinished_folders removes.
void remove_folder(const fs::path& folder) {
  const fs::path old = folder.string() + ".tmp-old";
  std::error_code ignored;  // what could not be removed is tried again after the next one
  fs::remove_all(old, ignored);
  fs::rename(folder, old, ignored);
  fs::remove_all(old, ignored);
}

// Nothing while somebody reads it; as long as the lock lives nobody begins to.
std::optional<FileLock> unread(const CheckpointFolder& checkpoint) try {
  return FileLock::try_take(checkpoint.path / kManifestName);
} catch (const Error&) {  // that cannot be found out
  return std::nullopt;
}

}  // namespace

CheckpointWriter::CheckpointWriter(RunFolder folder, CheckpointLedger& ledger, Recorder& recorder,
                                   std::optional<Position> resumed_from)
    : folder_(std::move(folder)),
      ledger_(ledger),
      recorder_(recorder),
      durable_(std::move(resumed_from)) {
  remove_unfinished_folders(folder_.checkpoints());
  if (durable_ && durable_->best) best_step_ = durable_->best->step;
}

CheckpointWriter::~CheckpointWriter() {
  try {
    wait();
  } catch (const std::exception& error) {
    log_warning(error.what());  // the store may be what failed
  }
}

void CheckpointWriter::save(const Pipeline& pipeline, const Position& position) {
  wait();
  being_written_ = position;
  writing_ = std::async(
      std::launch::async,
      [this, plan = &pipeline.plan, snapshot = take_snapshot(pipeline, position)]() mutable {
        write(std::move(snapshot), *plan);
      });
}

void CheckpointWriter::save_last(const Pipeline& pipeline, const Position& position) {
  wait();
  Snapshot snapshot = take_snapshot(pipeline, position);  // with the other ranks in any case
  if (durable_ == position) return;
  write(std::move(snapshot), pipeline.plan);
  durable_ = position;
}

void CheckpointWriter::write(Snapshot snapshot, const RunPlan& plan) {
  const int64_t step = snapshot.state.position.step;
  const fs::path target = folder_.checkpoints() / checkpoint_name(step);
  ledger_.before_commit();
  write_checkpoint(snapshot, target);
  ledger_.record(step, folder_bytes(target));
  find_best(complete_checkpoints(folder_), snapshot.state.position);
  remove_old(snapshot.state.position, plan);
}

// One that could not be written leaves the best before it in its place.
void CheckpointWriter::find_best(const std::vector<CheckpointFolder>& complete,
                                 const Position& position) {
  for (const CheckpointFolder& checkpoint : complete)
    if (position.best && checkpoint.step == position.best->step) best_step_ = checkpoint.step;
}

// Newer ones, of an attempt that a damaged file ended, are replaced when training gets there.
void CheckpointWriter::remove_old(const Position& newest, const RunPlan& plan) {
  int64_t kept = 0;
  for (const CheckpointFolder& checkpoint : complete_checkpoints(folder_)) {
    if (checkpoint.step > newest.step || ++kept <= plan.keep_last) continue;
    if (plan.keep_best && checkpoint.step == best_step_) continue;
    if (checkpoint.step == newest.divergence.rollback_step) continue;
    if (const auto alone = unread(checkpoint)) remove(checkpoint);
  }
}

void CheckpointWriter::remove(const CheckpointFolder& checkpoint) {
  ledger_.forget(checkpoint.step);
  remove_folder(checkpoint.path);
}

// Newer ones, of where a signal stopped the run, are of data that it passes over from now on.
std::optional<Position> CheckpointWriter::roll_back(const Pipeline& pipeline, int64_t step) {
  wait();
  const std::optional<Position> position = load_newest(folder_, pipeline, step);
  if (!position) return std::nullopt;
  for (const CheckpointFolder& checkpoint : complete_checkpoints(folder_))
    if (checkpoint.step > position->step) remove(checkpoint);
  durable_ = position;
  best_step_ = position->best ? std::optional(position->best->step) : std::nullopt;
  return position;
}

void CheckpointWriter::wait() {
  if (!writing_.valid()) return;
  try {
    writing_.get();
    durable_ = being_written_;
  } catch (const std::exception& error) {
    recorder_.event("warning", "checkpoint",
                    "the checkpoint of step " + std::to_string(being_written_.step) +
                        " was not written; training continues: " + error.what());
  }
}

}  // namespace exprun
