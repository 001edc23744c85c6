// Writes checkpoints in the background, one at a time, and removes old ones: all but
// the newest (checkpoint.keep_last), the best, which stays until a better one is written, and the
// one that a divergence goes back to.
//
// A checkpoint that cannot be written (a full disk) is a warning and an event, and training goes
// on: the one before is still there. The last of a process is different, because the run would be
// called saved: there the failure is an Error.
#pragma once

#include <future>
#include <optional>

#include "base/files/checkpoints.h"
#include "base/files/run_folder.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/record/recorder.h"
#include "engine/trainer.h"

namespace exprun {

// What the store knows of checkpoints. Called by the thread that writes, never by two at once.
class CheckpointLedger {
 public:
  virtual ~CheckpointLedger() = default;

  virtual void before_commit() {}  // metrics up to the checkpoint become durable first
  virtual void record(int64_t, int64_t /*bytes*/) {}
  virtual void forget(int64_t) {}
};

class CheckpointWriter : public Saver {
 public:
  // `resumed_from`: a checkpoint of that position is there already.
  CheckpointWriter(RunFolder folder, CheckpointLedger& ledger, Recorder& recorder,
                   std::optional<Position> resumed_from);
  ~CheckpointWriter() override;  // waits

  void save(const Pipeline& pipeline, const Position& position) override;
  void save_last(const Pipeline& pipeline, const Position& position) override;
  std::optional<Position> roll_back(const Pipeline& pipeline, int64_t step) override;
  void wait();  // until what save() began is written; a failure is an event

 private:
  void write(Snapshot snapshot, const RunPlan& plan);  // frees the snapshot when done
  void remove_old(const Position& newest, const RunPlan& plan);
  void remove(const CheckpointFolder& checkpoint);
  void find_best(const std::vector<CheckpointFolder>& complete, const Position& position);

  RunFolder folder_;
  CheckpointLedger& ledger_;
  Recorder& recorder_;
  std::optional<Position> durable_;   // of the newest
  std::optional<int64_t> best_step_;  // of the best that was written
  std::future<void> writing_;
  Position being_written_;
};

}  // namespace exprun
