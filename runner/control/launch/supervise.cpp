#include "control/launch/supervise.h"

#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "base/terminal/console.h"
#include "control/launch/process/child_group.h"
#include "control/launch/process/trainer_end.h"
#include "control/launch/ranks/ranks.h"
#include "control/launch/trainer_program.h"
#include "store/end_record.h"

namespace exprun {

namespace {

constexpr int kNotLoaded = 127;  // what the loader of programs ends with

ChildCommand trainer_command(const Store& store, const Attempt& attempt, LogLevel level) {
  ChildCommand command;
  command.words = {trainer_program(attempt.trainer).string(),
                   "--run-folder",
                   attempt.folder.path.string(),
                   "--shown-folder",
                   attempt.shown.string(),
                   "--store",
                   store.file().string(),
                   "--run-id",
                   std::to_string(attempt.run),
                   "--attempt",
                   std::to_string(attempt.number),
                   "--lock-fd",
                   std::to_string(attempt.lock.fd())};
  if (attempt.resume_from) {
    command.words.push_back("--resume-from");
    command.words.push_back(attempt.resume_from->string());
  }
  if (!attempt.checkpoint_recipe.empty()) {
    command.words.push_back("--recipe-of-checkpoint");
    command.words.push_back(attempt.checkpoint_recipe);
  }
  if (level == LogLevel::warning) command.words.push_back("--quiet");
  if (level == LogLevel::debug) command.words.push_back("--verbose");
  command.environment = trainer_environment();
  command.kept_fds = {attempt.lock.fd()};
  command.holds_stop_signals = true;
  return command;
}

// Of the last event of that kind in this attempt. Why the trainer says it ended has the kind "end".
std::string event_text(const Store& store, const Attempt& attempt, const std::string& kind) {
  std::string text;
  for (const EventRow& event : store.events(attempt.run))
    if (event.kind == kind && event.attempt == attempt.number) text = event.text;
  return text;
}

void record_end(Store& store, const Attempt& attempt, const EndRecord& record) {
  const auto lock_file = attempt.folder.lock();
  const auto trouble = record_in_store_or_lock_file(
      record, lock_file,
      [&] {
        store.end_attempt(attempt.run, record.state, record.exit_code, record.signal,
                          record.message);
      },
      attempt.lock.fd());
  if (!trouble) return;
  const bool is_kept = attempt.lock.is_of(lock_file);
  log_warning(std::string(trouble->what()) + "; how the run ended is " +
              (is_kept ? "kept in '" + lock_file.string() + "' until the store can be written"
                       : "recorded nowhere: '" + lock_file.string() + "' is gone"));
}

// Beside an error that is about to be told: further trouble must not take its place.
void try_to_record_end(Store& store, const Attempt& attempt, const EndRecord& record) {
  try {
    record_end(store, attempt, record);
  } catch (const Error& trouble) {
    log_warning(trouble.what());
  }
}

EndRecord record_of(const Attempt& attempt, RunState state, const std::string& message) {
  return {attempt.number, now_ms(), state, std::nullopt, std::nullopt, message};
}

std::filesystem::path log_of(const Attempt& attempt, int rank) {
  return attempt.folder.log(attempt.number, rank);
}

void make_folder_of_logs(const RunFolder& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder.logs(), error);
  if (error) throw Error("launch: cannot make " + folder.logs().string() + ": " + error.message());
}

// All ranks read the weights that a run begins with.
void hand_over_weights(const LaunchRequest& request, std::vector<ChildCommand>& commands) {
  if (!request.held_weights || !*request.held_weights) return;
  const int fd = (*request.held_weights)->fd();
  for (ChildCommand& command : commands) {
    command.kept_fds.push_back(fd);
    add_option(command, "--weights-fd", std::to_string(fd));
  }
}

GroupEnd run_to_end(std::vector<ChildCommand> commands, const ForwardedSignals& signals,
                    const LaunchRequest& request, ListeningSocket rendezvous = {}) {
  hand_over_weights(request, commands);
  return run_children(commands, signals, [&] {
    // Once rank 0 has the socket, nobody must connect to one that it has left.
    rendezvous.fd = UniqueFd();
    if (request.held_weights) request.held_weights->reset();
  });
}

GroupEnd run_ranks(const Store& store, const Attempt& attempt, const ForwardedSignals& signals,
                   const LaunchRequest& request) {
  ChildCommand single = trainer_command(store, attempt, request.level);
  if (request.log_to_file) {
    make_folder_of_logs(attempt.folder);
    single.log = log_of(attempt, 0);
  }
  const LocalRanks ranks =
      request.ranks ? *request.ranks : ranks_of_one_machine(attempt.world_size);
  if (ranks.store_is_served) add_place(single, ranks);
  if (ranks.store_is_served || ranks.world_size == 1) return run_to_end({single}, signals, request);
  if (ranks.ranks_here > 1) make_folder_of_logs(attempt.folder);
  ListeningSocket rendezvous = request.ranks ? rendezvous_point_of(ranks) : listen_on_loopback();
  auto commands =
      rank_commands(single, ranks, rendezvous, [&](int rank) { return log_of(attempt, rank); });
  return run_to_end(std::move(commands), signals, request, std::move(rendezvous));
}

// A rank above 0 writes to its log only: its end is shown from there.
std::string end_of_other_rank(const Attempt& attempt, const GroupEnd& group) {
  const auto rank = static_cast<int>(group.child);
  const auto lines = last_lines(log_of(attempt, rank), 10);
  const std::string by_signal = signal_message(group.end);
  const std::string message =
      "rank " + std::to_string(rank) + ": " + (by_signal.empty() ? error_in(lines) : by_signal);
  std::string shown = message + "\n  the last lines of " + log_of(attempt, rank).string() + ":";
  for (const std::string& line : lines) shown += "\n  | " + line;
  log(LogLevel::error, shown);
  return message;
}

// The loader has named the library.
std::string why_not_loaded(const Attempt& attempt) {
  const bool cuda = attempt.trainer == TrainerKind::cuda;
  return trainer_program(attempt.trainer).filename().string() +
         " did not start: a library that it needs is missing; " +
         (cuda ? "tools/exprun gets LibTorch with CUDA where it sees a GPU, or give LIBTORCH, and "
                 "run.device=cpu trains on the CPU"
               : "rebuild it with tools/exprun");
}

// What rank 0 says of the others names them, and a mistake in the recipe has its place.
bool wants_its_rank(const Attempt& attempt, const ChildEnd& end, const std::string& cause) {
  const RunState state = end_state(end);
  return attempt.world_size > 1 && !cause.empty() && !cause.starts_with("dist: ") &&
         (state == RunState::failed || state == RunState::killed) &&
         end.exit_code != static_cast<int>(ExitCode::bad_recipe);
}

// What the trainer said of its end: in the store, or where the store could not take it.
std::string last_message(const Store& store, const Attempt& attempt) {
  const std::string text = event_text(store, attempt, "end");
  if (!text.empty()) return text;
  const auto record = end_record(attempt.folder.lock(), attempt.number);
  return record ? record->message : "";
}

std::string why_it_ended(const Store& store, const Attempt& attempt, const GroupEnd& group) {
  if (group.child != 0) return end_of_other_rank(attempt, group);
  if (group.end.exit_code == kNotLoaded) return why_not_loaded(attempt);
  const std::string by_signal = signal_message(group.end);
  const std::string cause = by_signal.empty() ? last_message(store, attempt) : by_signal;
  return (wants_its_rank(attempt, group.end, cause) ? "rank 0: " : "") + cause;
}

}  // namespace

AttemptEnd supervise(Store& store, const Attempt& attempt, const ForwardedSignals& signals,
                     const LaunchRequest& request) {
  GroupEnd group;
  try {
    group = run_ranks(store, attempt, signals, request);
  } catch (const Error& error) {
    try_to_record_end(store, attempt, record_of(attempt, RunState::failed, error.what()));
    throw;
  }
  const ChildEnd& end = group.end;
  // Whoever is the cause, rank 0 may have been killed for it.
  if (!request.log_to_file && (end.signal || group.child != 0)) erase_progress_of_killed();
  const bool by_sweep = group.stopped_by_sweep && end_state(end) == RunState::interrupted;
  const std::string why_pruned = by_sweep ? event_text(store, attempt, kPruneEvent) : "";
  EndRecord record = why_pruned.empty()
                         ? record_of(attempt, end_state(end), why_it_ended(store, attempt, group))
                         : record_of(attempt, RunState::pruned, why_pruned);
  if (end.exit_code) record.exit_code = exit_status(end);
  record.signal = end.signal;
  record_end(store, attempt, record);
  return {exit_status(end), deserves_restart(end) && !group.was_told_to_stop};
}

}  // namespace exprun
