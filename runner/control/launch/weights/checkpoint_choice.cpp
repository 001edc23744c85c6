#include "control/launch/weights/checkpoint_choice.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/checkpoints.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/launch/run/repeated_run.h"
#include "control/launch/run/run_data.h"
#include "recipe/quantities.h"

namespace exprun {
namespace {

using Kind = CheckpointChoice::Kind;

std::string rerun_command(const std::string& run, const StoreFolder& folder,
                          const char* change = "") {
  return "`exprun rerun " + shell_quoted(run) + change + store_option(folder.shown) + '`';
}

Error nothing_to_look_at(const CheckpointAsker& asker, const StoreFolder& folder,
                         const std::string& run, const std::vector<std::string>& damaged) {
  if (damaged.empty())
    return Error(asker.command + ": " + that_it_has_no_checkpoint(folder, run, asker.changes));
  std::string text = asker.command + ": " + run + " has no intact checkpoint:";
  for (const std::string& reason : damaged) text += "\n  " + reason;
  return Error(text + "\n  restore one from a copy; " +
               how_to_train_again(folder, run, asker.changes));
}

// Nothing if the run has removed it meanwhile, or is about to.
std::optional<HeldCheckpoint> held(const CheckpointFolder& checkpoint) {
  const auto manifest = checkpoint.path / kManifestName;
  auto reading = FileLock::try_share(manifest);
  if (!reading || !reading->is_of(manifest)) return std::nullopt;
  return HeldCheckpoint{checkpoint, std::move(*reading)};
}

// A merge brings what a run has recorded since, but not its checkpoints. `here`: the newest of
// those that are; `taken`: what is taken instead.
void warn_of_newer_elsewhere(const Store& store, const StoreFolder& folder, const RunRow& run,
                             int64_t here, const std::string& taken) {
  int64_t newest = here;
  for (const CheckpointRow& saved : store.checkpoints(run.id))
    newest = std::max(newest, saved.step);
  if (newest == here || path_exists(folder.run(run.folder).checkpoints() / checkpoint_name(newest)))
    return;
  log_warning("the newest checkpoint of " + run.folder + ", of step " + std::to_string(newest) +
              ", is not in this store; taking " + taken);
}

void warn_of_newer_elsewhere(const StoreFolder& folder, const std::string& run, int64_t here,
                             const std::string& taken) {
  const Store store(folder.database(), Store::Access::read_only);
  warn_of_newer_elsewhere(store, folder, store.find_run(run), here, taken);
}

std::string that_of(int64_t step) {
  return "that of step " + std::to_string(step);
}

// As chosen_checkpoint(); nothing where one was removed before it could be held.
std::optional<HeldCheckpoint> last_checkpoint(const StoreFolder& folder, const std::string& run,
                                              const CheckpointAsker& asker) {
  std::vector<std::string> skipped;
  for (const CheckpointFolder& checkpoint : complete_checkpoints(folder.run(run), &skipped)) {
    auto found = held(checkpoint);
    if (!found) return std::nullopt;
    const auto problem = manifest_problem(checkpoint.path, Verify::hashes);
    if (!problem) {
      warn_of_skipped(skipped);
      warn_of_newer_elsewhere(folder, run, checkpoint.step, that_of(checkpoint.step));
      return found;
    }
    skipped.push_back(checkpoint.path.filename().string() + ": " + *problem);
  }
  throw nothing_to_look_at(asker, folder, run, skipped);
}

// "has those of steps 80 and 100".
std::string has_those(const std::vector<CheckpointFolder>& complete) {
  std::vector<std::string> steps;
  for (auto one = complete.rbegin(); one != complete.rend(); ++one)
    steps.push_back(std::to_string(one->step));
  if (steps.empty()) return "has none";
  if (steps.size() == 1) return "has that of step " + steps.front();
  return "has those of steps " + listed(steps);
}

// "; another run named mine, mine-1a2b3c4d, has those of steps 80 and 100"; empty where none has
// this step.
std::string namesake_with(int64_t step, const std::string& run, const StoreFolder& folder,
                          const CheckpointAsker& asker) {
  if (!asker.namesakes) return "";
  for (const RunRow& other : asker.namesakes()) {
    if (other.folder == run) continue;
    const auto complete = complete_checkpoints(folder.run(other.folder));
    if (std::ranges::find(complete, step, &CheckpointFolder::step) != complete.end())
      return "; another run named " + other.name + ", " + other.folder + ", " + has_those(complete);
  }
  return "";
}

// Why there is no checkpoint of the run's best step; empty where its recipe is not known.
// `damaged`: those that are there in part, "step_00000300: model.safetensors is missing".
std::string why_best_is_missing(const RunFolder& run, int64_t step,
                                const std::vector<std::string>& damaged) {
  for (const std::string& each : damaged)
    if (each.starts_with(checkpoint_name(step) + ": ")) return ", that is intact: " + each;
  const auto recipe = recipe_of_run(run);
  if (!recipe) return "";
  if (step == 0 && !recipe->find("model.init_from")) return ": untrained weights are not saved";
  if (text_at(recipe->root(), "checkpoint.keep_best") == "none")
    return ": with checkpoint.keep_best = \"none\" it is not kept";
  if (step == 0)
    return ": it was deleted, or the run began with a version of exprun that did not save given "
           "weights";
  return ", any more";
}

// Which may be the best.
void warn_of_newer(std::vector<std::string> damaged, const CheckpointFolder& newest) {
  std::erase_if(damaged,
                [&](const std::string& each) { return each < checkpoint_name(newest.step); });
  warn_of_skipped(damaged);
}

// As chosen_checkpoint(); nothing where it was removed before it could be held.
std::optional<HeldCheckpoint> found_checkpoint(const StoreFolder& folder, const std::string& run,
                                               const CheckpointChoice& choice,
                                               const CheckpointAsker& asker) {
  if (choice.kind == Kind::last) return last_checkpoint(folder, run, asker);
  const std::string& command = asker.command;
  const RunFolder run_folder = folder.run(run);
  std::vector<std::string> damaged;
  const auto complete = complete_checkpoints(run_folder, &damaged);
  int64_t step = choice.step;
  if (choice.kind == Kind::best) {
    if (complete.empty()) throw nothing_to_look_at(asker, folder, run, damaged);
    const auto newest = held(complete.front());
    if (!newest) return std::nullopt;
    warn_of_newer(damaged, complete.front());
    const auto best = checkpoint_facts(newest->folder.path).best_step;
    if (!best)
      throw Error(command + ": " + run +
                  " has no best checkpoint: no evaluation has measured its run.best_metric before "
                  "a checkpoint; --step N chooses one, and it " +
                  has_those(complete));
    step = *best;
  }
  for (const CheckpointFolder& checkpoint : complete) {
    if (checkpoint.step != step) continue;
    auto found = held(checkpoint);
    const auto problem = found ? manifest_problem(checkpoint.path, Verify::hashes) : std::nullopt;
    if (found && !problem && choice.kind == Kind::best)
      warn_of_newer_elsewhere(folder, run, complete.front().step, "the best of those that are");
    if (!problem) return found;
    throw Error(command + ": the checkpoint of step " + std::to_string(step) + " of " + run +
                " is damaged: " + *problem + "; bring back a copy of it, or choose another");
  }
  const bool is_best = choice.kind == Kind::best;
  const std::string namesake = is_best ? "" : namesake_with(step, run, folder, asker);
  if (complete.empty() && namesake.empty()) throw nothing_to_look_at(asker, folder, run, damaged);
  throw Error(command + ": " + run + " has no checkpoint of " +
                  (is_best ? "its best step, " : "step ") + std::to_string(step) +
                  (is_best ? why_best_is_missing(run_folder, step, damaged) : "") + "; it " +
                  has_those(complete) + namesake,
              is_best ? ExitCode::failed : ExitCode::bad_recipe);
}

}  // namespace

std::string that_it_has_no_checkpoint(const StoreFolder& folder, const std::string& run,
                                      const std::vector<std::string>& changes) {
  if (FileLock::held(folder.run(run).lock())) return run + " has no checkpoint yet; it is running";
  return run + " has no checkpoint; " + how_to_train_again(folder, run, changes);
}

std::optional<int64_t> best_before_newest(const RunFolder& run) {
  const auto complete = complete_checkpoints(run);
  if (complete.empty()) return std::nullopt;
  const auto best = checkpoint_facts(complete.front().path).best_step;
  const auto is_best = [&](const CheckpointFolder& each) { return each.step == best; };
  const bool is_kept = best && std::any_of(complete.begin() + 1, complete.end(), is_best);
  return is_kept ? best : std::nullopt;
}

CheckpointChoice choice_of_best(const RunFolder& run) {
  std::vector<std::string> damaged;
  const auto complete = complete_checkpoints(run, &damaged);
  const auto best =
      complete.empty() ? std::nullopt : checkpoint_facts(complete.front().path).best_step;
  if (!best) return {};
  if (path_exists(run.checkpoints() / checkpoint_name(*best))) return {Kind::best, *best};
  log_warning(run.path.filename().string() + " has no checkpoint of its best step, " +
              std::to_string(*best) + why_best_is_missing(run, *best, damaged) +
              "; taking the newest, of step " + std::to_string(complete.front().step));
  return {};
}

CheckpointChoice choice_without_step(const std::string& reference, const RunFolder& run) {
  if (reference != "@best") return {};
  const CheckpointChoice choice = choice_of_best(run);
  if (choice.kind == Kind::best && best_before_newest(run))
    log_info("taking its best checkpoint, of step " + std::to_string(choice.step) +
             " (--step last takes the newest)");
  return choice;
}

CheckpointChoice checkpoint_choice(const std::string& command, const std::string& word) {
  if (word.empty() || word == "last") return {};
  if (word == "best") return {Kind::best};
  const auto step = parse_number<int64_t>(word);
  if (step && *step >= 0) return {Kind::step, *step};
  throw Error(command + ": --step takes a number of steps, best or last, not '" + word + "'",
              ExitCode::bad_recipe);
}

HeldCheckpoint chosen_checkpoint(const StoreFolder& folder, const std::string& run,
                                 const CheckpointChoice& choice, const CheckpointAsker& asker) {
  for (;;)
    if (auto found = found_checkpoint(folder, run, choice, asker)) return std::move(*found);
}

// Weights that are NaN would diverge at once, also in a later attempt of a run that once diverged,
// and a run that diverged without any others would do so again from the start.
std::optional<CheckpointFolder> checkpoint_to_continue_from(const Store& store,
                                                            const StoreFolder& folder,
                                                            const RunRow& run) {
  std::vector<std::string> skipped;
  const bool diverged = run.state == RunState::diverged;
  const auto checkpoint = newest_to_continue_from(folder.run(run.folder), skipped);
  warn_of_skipped(skipped);
  if (checkpoint)
    warn_of_newer_elsewhere(store, folder, run, checkpoint->step, that_of(checkpoint->step));
  if (!checkpoint && !run.origin.empty()) {
    const std::string why = why_not_repeated(folder, run);
    throw Error("launch: " + run.folder + " has no intact checkpoint, and it " +
                (why.empty() ? "is a fork of " + describe_origin(run.origin) + "; " +
                                   rerun_command(run.folder, folder) + " forks that again"
                             : why));
  }
  if (diverged && !checkpoint)
    throw Error("launch: " + run.folder +
                " diverged, and it has no checkpoint with finite weights to continue from; " +
                rerun_command(run.folder, folder, " lr=...") + " makes it again with a change");
  if (!checkpoint && (!skipped.empty() || !store.checkpoints(run.id).empty()))
    throw Error("launch: " + run.folder + " has no intact checkpoint to continue from; " +
                rerun_command(run.folder, folder) + " trains it again from the start");
  return checkpoint;
}

}  // namespace exprun
