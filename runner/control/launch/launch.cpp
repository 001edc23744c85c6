#include "control/launch/launch.h"

#include <chrono>
#include <csignal>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/files/file_lock.h"
#include "base/strings.h"
#include "control/launch/prepared_launch.h"
#include "control/launch/ranks/distributed_command.h"
#include "control/launch/ranks/ranks.h"
#include "control/launch/run/continued_run.h"
#include "control/launch/run/extended_run.h"
#include "control/launch/run/new_run.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/recipe_difference.h"
#include "control/launch/run/repeated_run.h"
#include "control/launch/run/run_data.h"
#include "control/launch/run/which_run.h"
#include "control/launch/weights/checkpoint_choice.h"
#include "control/launch/weights/initial_weights.h"
#include "recipe/quantities.h"

namespace exprun {
namespace {

// A launch holds the lock for a few writes only: who holds it longer is stopped, or stuck.
constexpr std::chrono::seconds kPatience{30};

// Who forks or repeats a run does so on its data, so that others are worth a warning.
void say_difference(const Store& store, const StoreFolder& folder, const LaunchRequest& request,
                    const PreparedData& data) {
  const auto source = request.source();
  const auto [text, data_differ] =
      difference_from_known(store, folder, request.resolved, data, source);
  if (text.empty()) return;
  if (source && data_differ)
    log_warning(text);
  else
    log_info(text);
}

Attempt begin(Store& store, const StoreFolder& folder, const LaunchRequest& request,
              const PreparedLaunch& prepared, const std::optional<RunRow>& run) {
  if (run) return continue_run(store, folder, request, prepared, *run);
  // A sweep says itself what its trials change.
  if (!request.trial) say_difference(store, folder, request, prepared.data);
  return begin_new_run(store, folder, request, prepared);
}

bool can_write_text(const ResolvedRecipe& recipe) {
  return text_at(recipe.root(), "dataset.tokenizer").value_or("none") != "none";
}

// A sweep says itself what comes after its trials.
void say_what_comes_next(const Store& database, const RunRow& run, const LaunchRequest& request,
                         const StoreFolder& folder) {
  if (run.state != RunState::finished || request.trial) return;
  const std::string store = store_option(folder), name = ' ' + shell_quoted(run.folder);
  std::string next = "next:\n  exprun report" + store + "   compares the runs";
  const bool on_instructions = request.resolved.section("dataset").type() == "instruction";
  const auto best = best_before_newest(folder.run(run.folder));
  if (can_write_text(request.resolved))
    next += "\n  exprun sample" + name + (best ? " --step best" : "") +
            (on_instructions ? " --instruction --prompt TEXT" : "") + store +
            "   generates text with " +
            (best ? "its best checkpoint, of step " + std::to_string(*best) : "it");
  else
    next += "\n  exprun show" + name + store + "   shows the details of this run";
  // One that ended early has no need of more steps; other ranks are to be started by hand.
  if (!ended_early(run) && !request.ranks)
    next += "\n  " + offer_of_twice_the_length(database, run, request.resolved, store);
  log_info(next);
}

// Of any other end the trainer has spoken itself.
void say_how_to_go_on(const RunRow& run, const LaunchRequest& request, const StoreFolder& folder,
                      int exit_code) {
  const bool begins_anew = complete_checkpoints(folder.run(run.folder)).empty();
  const std::string next =
      "; exprun resume " + folder.words_for(run.folder) +
      (request.ranks ? ", started for all ranks as this was," : "") +
      (begins_anew ? " trains it again from the start: it has no checkpoint" : " continues it");
  const bool perhaps_memory = exit_code == 128 + SIGKILL;
  if (run.state == RunState::killed)
    log_warning(run.folder + " was killed: " + run.message + next +
                (perhaps_memory ? "; if memory ran out, start a run with a lower batch.micro_batch "
                                  "or a smaller model"
                                : ""));
  if (run.state == RunState::interrupted || run.state == RunState::preempted)
    log_info(run.folder + " is " + to_string(run.state) + next);
}

std::optional<ResolvedRecipe> resolved_if_possible(const RecipeText& text) {
  try {
    return resolve(text);
  } catch (const RecipeError&) {
    return std::nullopt;
  }
}

// One rank fewer, or as many below that as can share the batch; the same where none can.
LaunchRequest with_fewer_ranks(LaunchRequest request, int ranks) {
  while (--ranks >= 1) {
    RecipeText text = with_world_size(request.text, ranks);
    const auto resolved = resolved_if_possible(text);
    if (!resolved) continue;
    request.resolved = *resolved;
    request.text = std::move(text);
    break;
  }
  return request;
}

// What is asked of the attempt after a restart of all ranks.
LaunchRequest request_for_restart(LaunchRequest request, int ranks) {
  if (request.ranks) ++request.ranks->restarts;
  const bool elastic = request.resolved.section("parallelism").get<bool>("elastic");
  return elastic && !request.ranks ? with_fewer_ranks(std::move(request), ranks) : request;
}

// The other machines are to restart their ranks after it, as this one would.
bool looks_like_a_loss(const RunRow& run) {
  return run.state == RunState::failed || run.state == RunState::killed;
}

// The attempt that has begun, and the restarts that the recipe allows.
Launch train_with_restarts(Store& store, const StoreFolder& folder, std::optional<Attempt> attempt,
                           Decision decision, const ForwardedSignals& signals,
                           LaunchRequest request) {
  if (request.ranks) leave_signals_to_trainer();
  const bool by_other = request.ranks && !request.ranks->restarts_here;
  const int64_t most =
      by_other ? 0 : request.resolved.section("parallelism").get<int64_t>("max_restarts");
  std::optional<FileLock> weights;
  if (!request.held_weights) request.held_weights = &weights;
  for (int64_t restart = 1;; ++restart) {
    if (!attempt->resume_from && !*request.held_weights)
      *request.held_weights = hold_initial_weights(request.resolved);
    if (request.begun) request.begun(attempt->folder, attempt->run, attempt->number);
    const AttemptEnd end = supervise(store, *attempt, signals, request);
    Launch launched{decision, observed(store, folder, *store.run(attempt->run)), end.exit_code};
    say_how_to_go_on(launched.run, request, folder, end.exit_code);
    say_what_comes_next(store, launched.run, request, folder);
    launched.others_wait = restart <= most && looks_like_a_loss(launched.run);
    if (restart > most || !end.deserves_restart) return launched;
    const int ranks = attempt->world_size;
    attempt.reset();  // its lock
    request = request_for_restart(std::move(request), ranks);
    const bool fewer = world_size(request.resolved) < ranks;
    log_warning("launch: restart " + std::to_string(restart) + " of " + std::to_string(most) +
                " of all ranks" +
                (fewer ? ", now " + std::to_string(world_size(request.resolved)) : ""));
    const PreparedLaunch prepared = prepare_launch(store, folder, request, launched.run);
    attempt.emplace(continue_run(store, folder, request, prepared, launched.run));
  }
}

}  // namespace

std::optional<RunRow> LaunchRequest::source() const {
  return origin && !repeated ? origin->run : repeated;
}

std::string store_option(const StoreFolder& folder) {
  return store_option(folder.shown);
}

std::string how_to_start_anew(const RunRow& run, const StoreFolder& folder,
                              const std::vector<std::string>& changes) {
  const bool can_be_repeated = why_not_repeated(folder, run).empty();
  std::string command =
      std::string("exprun ") + (can_be_repeated ? "rerun " : "fork ") + shell_quoted(run.folder);
  for (const std::string& change : changes) command += ' ' + shell_quoted(change);
  return "start a new run: " + command + store_option(folder);
}

std::string how_to_start_anew(const LaunchRequest& request, const RunRow& run,
                              const StoreFolder& folder) {
  std::vector<std::string> changes;
  const RecipeText& text = request.text;
  for (size_t i = text.stored; request.extends && i < text.overrides.size(); ++i)
    if (text.is_typed(i)) changes.push_back(text.overrides[i]);
  return how_to_start_anew(run, folder, changes);
}

FileLock launch_lock(const StoreFolder& folder) {
  const std::filesystem::path file = folder.launch_lock();
  if (auto lock = FileLock::take_within(file, kPatience)) return std::move(*lock);
  throw Error("launch: another launch has held " + file.string() + " for " +
              std::to_string(kPatience.count()) + " s; `fuser " + shell_quoted(file.string()) +
              "` names its process: continue or end it, and try again");
}

Launch launch(Store& store, const StoreFolder& folder, const LaunchRequest& request,
              bool always_new) {
  std::optional<std::string> data;  // the fingerprint that the first preparation tells
  for (;;) {
    const WhichRun which = which_run(store, folder, request, always_new, data);
    if (which.decision == Decision::refuse_running && has_lost_launcher(*which.run)) {
      const RunRow run = ended_without_launcher(store, *which.run);
      if (has_lost_launcher(run)) return {which.decision, run, {}};
      continue;
    }
    if (!needs_a_trainer(which.decision))
      return {.decision = which.decision,
              .run = *which.run,
              .has_runs_on_other_data = which.has_runs_on_other_data};
    const WorkingDirectory there(which.run);
    const PreparedLaunch prepared = prepare_launch(store, folder, request, which.run);
    if (!data) data = prepared.data.fingerprint;
    auto launches = std::make_optional(launch_lock(folder));
    // Preparing may have taken an hour: another launch may have been faster. It may have told, too,
    // that another run was trained on these data.
    if (!(which_run(store, folder, request, always_new, data) == which)) continue;
    if (!are_there(prepared.data)) continue;
    const ForwardedSignals signals(request.trial.has_value());
    std::optional<Attempt> attempt = begin(store, folder, request, prepared, which.run);
    launches.reset();
    if (request.origin && request.held_weights) request.held_weights->reset();  // it is copied
    return train_with_restarts(store, folder, std::move(attempt), which.decision, signals, request);
  }
}

Launch launch_continuation(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                           const RunRow& run) {
  const WorkingDirectory there(run);
  const PreparedLaunch prepared = prepare_launch(store, folder, request, run);
  const ForwardedSignals signals;
  return train_with_restarts(store, folder, continue_run(store, folder, request, prepared, run),
                             Decision::continue_run, signals, request);
}

}  // namespace exprun
