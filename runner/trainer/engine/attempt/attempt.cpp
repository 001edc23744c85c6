#include "engine/attempt/attempt.h"

#include "base/diagnostic.h"
#include "base/free_space.h"
#include "base/log.h"
#include "base/signals.h"
#include "dist/true_cause.h"
#include "dist/within.h"
#include "engine/attempt/hand_over.h"
#include "engine/attempt/meeting.h"
#include "engine/attempt/parting.h"
#include "engine/attempt/rank_attempt.h"
#include "engine/attempt/recording.h"
#include "engine/attempt/run_kernels.h"
#include "engine/checkpoint/checkpoint_writer.h"
#include "engine/checkpoint/state_giver.h"
#include "engine/describe.h"
#include "engine/device/torch_error.h"
#include "engine/pipeline.h"
#include "engine/record/progress.h"
#include "engine/trainer.h"
#include "recipe/checkpoint_room.h"

namespace exprun {

namespace {

ExitCode exit_code(const TrainingResult& result) {
  if (result.end == TrainingResult::End::finished) return ExitCode::done;
  if (result.end == TrainingResult::End::diverged) return ExitCode::diverged;
  return exit_code_of(result.stop);
}

// Before hours of training, not after.
void require_room_for_checkpoints(const Pipeline& pipeline, const RunFolder& folder, int64_t step) {
  const auto saved = static_cast<int64_t>(complete_checkpoints(folder).size());
  Diagnostics problems = checkpoint_room_problems(
      pipeline.recipe,
      {checkpoint_bytes(pipeline.learner), saved, checkpoints_after(pipeline.plan, step),
       folder.path.string(), free_space(folder.path)},
      Severity::error);
  if (!problems.empty()) throw RecipeError(std::move(problems));
}

TrainingResult train(Trainer& trainer, const std::optional<Position>& start, ProcessGroup& group) {
  return with_true_cause(group, [&] { return trainer.run(start.value_or(Position{})); });
}

// What needs the rendezvous.
void prepare_together(Rendezvous& rendezvous, const Pipeline& pipeline) {
  agree_on_kernels(rendezvous, pipeline);
  rendezvous.roll_call()->all_exchange();
}

constexpr std::chrono::minutes kConnecting{1};  // longer than a rendezvous tries

// Nothing if this rank is told to stop first: where an address leads nowhere it takes seconds.
std::unique_ptr<Rendezvous> met_unless_stopped(const RankPlace& place) {
  auto met = within(
      kConnecting, [place] { return std::make_unique<Rendezvous>(place); },
      [] { return stop_requested() != StopRequest::none; });
  if (met) return std::move(*met);
  if (stop_requested() != StopRequest::none) return nullptr;
  throw Error("dist: rank 0 of " + std::to_string(place.world_size) +
                  " cannot meet the others at " + place.address + ":" + std::to_string(place.port) +
                  ": nothing answers there; it must be an address of this machine",
              ExitCode::lost_ranks);
}

}  // namespace

ExitCode run_attempt(const StoredRun& run, const std::optional<std::filesystem::path>& checkpoint,
                     const RankPlace& place) {
  HandOver hand_over = read_hand_over(run.folder, checkpoint);
  hand_over.attempt = run.attempt;
  std::unique_ptr<Rendezvous> rendezvous;  // of several ranks
  if (place.world_size > 1) {
    rendezvous = met_unless_stopped(place);
    const auto stop = rendezvous ? tell(*rendezvous, hand_over) : stop_requested();
    if (stop != StopRequest::none) return exit_code_of(stop);
    rendezvous->roll_call();
  }
  const RankAttempt attempt(hand_over, rendezvous.get());
  const Pipeline& pipeline = attempt.pipeline();
  KernelFile kernels(run.folder.kernels());
  if (rendezvous) prepare_together(*rendezvous, pipeline);

  record_libraries(run, libraries_json(attempt.machine(), attempt.device()));
  Recording recording(run, attempt);
  const std::optional<Position> start = attempt.restore(recording);
  recording.begin(start ? start->step : 0);

  StoreLedger ledger(run, recording.metrics());
  CheckpointWriter saver(run.folder, ledger, recording, start);  // removes what was never finished
  require_room_for_checkpoints(pipeline, run.folder, start ? start->step : 0);
  Trainer trainer(pipeline, {recording, &saver, stop_requested, [&kernels] { kernels.keep(); }});
  const TrainingResult result = train(trainer, start, *pipeline.group);
  saver.wait();
  recording.end(result);
  if (rendezvous) release_others(*rendezvous);
  return exit_code(result);
}

namespace {

// Its cause is not here.
bool is_loss_of_others(const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  return own && own->code() == ExitCode::lost_ranks;
}

// Without memory or threads for that they find out by themselves; what failed first is to be told.
void tell_why(Rendezvous& rendezvous, const std::exception& failure) try {
  rendezvous.roll_call()->say_why(explain_failure(failure));
} catch (const std::exception& error) {
  log(LogLevel::debug, error.what());
}

// Beside rank 0 all that a rank says goes to this file; elsewhere its launcher shows warnings.
void keep_own_log(const RankPlace& place, const HandOver& hand_over) {
  const bool is_beside_rank_0 = !place.joined && place.rank < place.ranks_here;
  if (!is_beside_rank_0) keep_log(hand_over.folder.log(hand_over.attempt, place.rank).string());
}

ExitCode follow(const RankAttempt& attempt, Rendezvous& rendezvous) {
  prepare_together(rendezvous, attempt.pipeline());
  Progress progress(attempt.pipeline());
  const std::optional<Position> start = attempt.restore(progress);
  StateGiver giver;
  Trainer trainer(attempt.pipeline(), {progress, &giver});
  const TrainingResult result = train(trainer, start, *attempt.pipeline().group);
  await_release(rendezvous, exchange_timeout(attempt.recipe()));
  return exit_code(result);
}

}  // namespace

ExitCode follow_attempt(const RankPlace& place, const std::optional<std::string>& recipe_hash) {
  const std::unique_ptr<Rendezvous> met = meet_rank_0(place);
  Rendezvous& rendezvous = *met;
  const Heard heard = hear(rendezvous, recipe_hash);
  if (const auto* code = std::get_if<ExitCode>(&heard)) return *code;
  keep_own_log(place, std::get<HandOver>(heard));
  watch_stop_signals();  // not before: rank 0 may prepare data for an hour
  rendezvous.roll_call();
  // The others ask why for some seconds only, and its group may take as long to end: it is still
  // there while that is said.
  std::optional<RankAttempt> attempt;
  try {
    return follow(attempt.emplace(std::get<HandOver>(heard), &rendezvous), rendezvous);
  } catch (const std::exception& error) {
    if (!is_loss_of_others(error)) tell_why(rendezvous, error);
    throw;
  }
}

void dismiss_others(const RankPlace& place, const Dismissal& dismissal) {
  try {
    Rendezvous rendezvous(place);
    dismiss(rendezvous, dismissal);
  } catch (const Error& error) {
    log_warning(std::string(error.what()) + ": ranks that come later wait until they are stopped");
  }
}

}  // namespace exprun
