#include "engine/attempt/attempt.h"

#include <chrono>
#include <memory>
#include <optional>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/process/signals.h"
#include "dist/failures/failure.h"
#include "engine/attempt/hand_over.h"
#include "engine/attempt/handshake.h"
#include "engine/attempt/rank_attempt.h"
#include "engine/attempt/shutdown_barrier.h"
#include "engine/autotune/run_kernels.h"
#include "engine/checkpoint/checkpoint_writer.h"
#include "engine/checkpoint/open_checkpoint.h"
#include "engine/describe.h"
#include "engine/device/torch_error.h"
#include "engine/pipeline.h"
#include "engine/record/progress.h"
#include "engine/record/recording.h"
#include "engine/record/store_recorder.h"
#include "engine/trainer.h"
#include "recipe/capacity.h"

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
  Diagnostics problems =
      checkpoint_space_problems(pipeline.recipe, {checkpoint_bytes(pipeline.train_state), saved,
                                                  checkpoints_after(pipeline.plan, step),
                                                  folder.path.string(), free_space(folder.path)});
  if (!problems.empty()) throw RecipeError(std::move(problems));
}

TrainingResult train(Trainer& trainer, const std::optional<Position>& start, ProcessGroup& group) {
  return with_true_cause(group, [&] { return trainer.run(start.value_or(Position{})); });
}

// What needs the rendezvous.
void prepare_together(Rendezvous& rendezvous, const Pipeline& pipeline) {
  agree_on_kernels(rendezvous, pipeline);
  rendezvous.membership()->all_exchange();
}

constexpr std::chrono::minutes kConnecting{1};  // longer than a rendezvous tries

// Null if this rank is told to stop first: where an address leads nowhere, joining takes seconds.
std::unique_ptr<Rendezvous> joined_unless_stopped(const RankPlace& place) {
  auto joined = within(
      kConnecting, [place] { return std::make_unique<Rendezvous>(place); },
      [] { return stop_requested() != StopRequest::none; });
  if (joined) return std::move(*joined);
  if (stop_requested() != StopRequest::none) return nullptr;
  throw Error("dist: rank 0 of " + std::to_string(place.world_size) +
                  " cannot meet the other ranks at " + place.address + ":" +
                  std::to_string(place.port) +
                  ": nothing responds there; the address must belong to this machine",
              ExitCode::lost_ranks);
}

}  // namespace

ExitCode run_attempt(const StoredRun& run, const std::optional<std::filesystem::path>& checkpoint,
                     const std::string& checkpoint_recipe, const RankPlace& place,
                     std::optional<FileLock> weights) {
  keep_log(run.folder.log(run.attempt, 0).string());
  HandOver hand_over = read_hand_over(run.folder, checkpoint, checkpoint_recipe);
  hand_over.attempt = run.attempt;
  std::unique_ptr<Rendezvous> rendezvous;  // of several ranks
  if (place.world_size > 1) {
    rendezvous = joined_unless_stopped(place);
    const auto stop = rendezvous ? send_hand_over(*rendezvous, hand_over) : stop_requested();
    if (stop != StopRequest::none) return exit_code_of(stop);
    rendezvous->membership();
  }
  const RankAttempt attempt(hand_over, rendezvous.get());
  const Pipeline& pipeline = attempt.pipeline();
  KernelFile kernels(run.folder.kernels());
  if (rendezvous) prepare_together(*rendezvous, pipeline);
  if (place.rank == 0) keep_threads(run.folder, {attempt.environment().threads, place.world_size});

  record_libraries(run, libraries_json(attempt.environment(), attempt.device()));
  Recording recording(run, attempt);
  const std::optional<Position> start = attempt.restore(recording);
  weights.reset();

  StoreLedger ledger(run, recording.metrics());
  CheckpointWriter saver(run.folder, ledger, recording, start);  // removes what was never finished
  require_room_for_checkpoints(pipeline, run.folder, start ? start->step : 0);
  recording.begin(start);  // nothing of the machine is recorded of what could not start
  Trainer trainer(pipeline, {recording, &saver, stop_requested, [&kernels] { kernels.keep(); },
                             words_for(run)});
  const TrainingResult result = train(trainer, start, *pipeline.group);
  saver.wait();
  recording.end(result);
  if (rendezvous) release_others(*rendezvous);
  return exit_code(result);
}

namespace {

// The cause is then another rank.
bool is_loss_of_others(const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  return own && own->code() == ExitCode::lost_ranks;
}

// Where there is no memory or thread to report it, the others notice by themselves, and the first
// failure is still the one to show.
void report_to_others(Rendezvous& rendezvous, const std::exception& failure) try {
  rendezvous.membership()->report_failure(explain_failure(failure));
} catch (const std::exception& error) {
  log(LogLevel::debug, error.what());
}

// Beside rank 0 the launcher sends a rank's whole output to this file; elsewhere it shows warnings.
void keep_own_log(const RankPlace& place, const HandOver& hand_over) {
  const bool is_beside_rank_0 = !place.external_launcher && place.rank < place.ranks_here;
  if (!is_beside_rank_0) keep_log(hand_over.folder.log(hand_over.attempt, place.rank).string());
}

ExitCode follow(const RankAttempt& attempt, const RunFolder& folder, Rendezvous& rendezvous,
                std::optional<FileLock>& weights) {
  prepare_together(rendezvous, attempt.pipeline());
  Progress progress(attempt.pipeline());
  const std::optional<Position> start = attempt.restore(progress);
  weights.reset();
  StateGiver giver(folder);
  Trainer trainer(attempt.pipeline(), {progress, &giver});
  const TrainingResult result = train(trainer, start, *attempt.pipeline().group);
  await_release(rendezvous, exchange_timeout(attempt.recipe()));
  return exit_code(result);
}

}  // namespace

ExitCode follow_attempt(const RankPlace& place, const std::optional<std::string>& recipe_hash,
                        std::optional<FileLock> weights) {
  const std::unique_ptr<Rendezvous> joined = join_rank_0(place);
  Rendezvous& rendezvous = *joined;
  const ReceivedHandOver received = receive_hand_over(rendezvous, recipe_hash);
  if (const auto* code = std::get_if<ExitCode>(&received)) return *code;
  keep_own_log(place, std::get<HandOver>(received));
  watch_stop_signals();  // not before: rank 0 may prepare data for an hour
  rendezvous.membership();
  // Outlives the report of a failure: the others wait only some seconds for that, and the group of
  // an attempt may take as long to end.
  std::optional<RankAttempt> attempt;
  try {
    const auto& hand_over = std::get<HandOver>(received);
    return follow(attempt.emplace(hand_over, &rendezvous), hand_over.folder, rendezvous, weights);
  } catch (const std::exception& error) {
    if (!is_loss_of_others(error)) report_to_others(rendezvous, error);
    throw;
  }
}

void shut_down_others(const RankPlace& place, const ShutdownNotice& shutdown_notice) {
  try {
    Rendezvous rendezvous(place);
    shut_down(rendezvous, shutdown_notice);
  } catch (const Error& error) {
    log_warning(std::string(error.what()) + "; ranks that start later wait until they are stopped");
  }
}

}  // namespace exprun
