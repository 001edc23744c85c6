// exprun fork RUN [--step N|best|last] [key=value...]
#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/command/line/override_completions.h"
#include "control/command/line/recipe_words.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/launch/background.h"
#include "control/launch/prepared_launch.h"
#include "control/launch/ranks/distributed_command.h"
#include "control/launch/ranks/restart_detection.h"
#include "control/launch/run/forked_run.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/weights/checkpoint_choice.h"

namespace exprun {
namespace {

struct ForkWords {
  std::string reference, step;
  Words overrides;
  bool fresh_optimizer = false;
};

// Of a path that begins with a store; that of the command otherwise.
std::string store_option_for(const std::filesystem::path& run, const StoreFolder& folder) {
  const std::filesystem::path store = run.has_parent_path() ? run.parent_path() : ".";
  return store_option(is_store(store) ? store : folder.shown);
}

void refuse_checkpoint(const ForkWords& words, bool detach, const StoreFolder& store) {
  const auto checkpoint = checkpoint_at(words.reference);
  if (!checkpoint) return;
  const std::filesystem::path& run = checkpoint->run.path;
  std::string command = "exprun fork " + shell_quoted(run.filename().string()) + " --step " +
                        std::to_string(checkpoint->step);
  if (words.fresh_optimizer) command += " --fresh-optimizer";
  if (detach) command += " --detach";
  for (const std::string& word : words.overrides) command += ' ' + shell_quoted(word);
  throw Error("fork: '" + words.reference + "' is a checkpoint of a run; write " + command +
                  store_option_for(run, store),
              ExitCode::bad_recipe);
}

// Which begins with the weights that the words name; none of a fork, which `exprun rerun` repeats.
std::string command_with_weights(const ForkWords& words, const RunRow& run,
                                 const StoreFolder& store) {
  return run.origin.empty() ? "exprun rerun " + store.words_for(words.reference, words.overrides)
                            : "";
}

Performed fork(const ForkWords& words, const std::optional<LocalRanks>& ranks,
               const AttemptBegun& begun, const Globals& globals) {
  CheckpointChoice choice = checkpoint_choice("fork", words.step);
  Store store = open_store_to_change(globals.store);
  const RunRow run = find_run_for_folder(store, globals.store, words.reference);
  require_run_folder(globals.store, run, "fork");
  if (words.step.empty())
    choice = choice_without_step(words.reference, globals.store.run(run.folder));
  if (!ranks) require_ranks_for_one_machine(store, run, "fork", words.overrides);
  RecipeText text = understood_recipe(store, run, words.overrides, "fork", words.reference);
  const ResolvedRecipe before = resolve_stored(stored_recipe(store, run), "fork", words.reference);
  refuse_other_weights("fork", before, try_resolve(text).recipe,
                       command_with_weights(words, run, globals.store));
  const WorkingDirectory there(run);
  LaunchRequest request = request_for(with_world_size_of(ranks, std::move(text)), globals);
  request.ranks = ranks;
  request.begun = begun;
  HeldCheckpoint checkpoint =
      chosen_checkpoint(globals.store, run.folder, choice,
                        {"fork", [&] { return store.runs(run.name); }, words.overrides});
  request.origin = ForkOrigin{run, globals.store.run(run.folder), before, checkpoint.folder,
                              words.fresh_optimizer};
  std::optional<FileLock> reading = std::move(checkpoint.reading);
  request.held_weights = &reading;
  log_info("forking " + describe_origin(to_json(*request.origin)));
  const Launch launched = launch_detecting_restart(store, globals.store, request, true);
  return launched.exit_code ? performed(launched)
                            : Performed{ended_already(launched, "fork"), false};
}

}  // namespace

int run_fork(const Words& words, const Globals& globals) {
  ForkWords asked;
  bool detach = false;
  Arguments arguments(
      "fork RUN [--step N|best|last] [key=value...] [--detach]",
      "Starts a new run from a checkpoint of another: from its weights and its "
      "optimizer state, with changes to its recipe. Step numbers continue, so "
      "run.steps includes the steps before the fork. Without overrides, the new run "
      "repeats the original's losses.");
  arguments.run_word(asked.reference)
      .words("key=value...", asked.overrides, "overrides of the recipe's keys", offer::changes)
      .option("--step", "N|best|last", asked.step, kStepHelp, offer::one_of({"best", "last"}))
      .flag("--fresh-optimizer", asked.fresh_optimizer,
            "take only the weights, and start with a fresh optimizer state")
      .flag("--detach", detach, kDetachHelp)
      .note(kHowANewRunContinues)
      .exit_codes(kTrains)
      .example("exprun fork @last --step best lr=1e-4 run.steps=4000",
               "continue from the best checkpoint with a lower learning rate")
      .example("exprun fork @last --fresh-optimizer optimizer.type=sgd run.steps=6000",
               "with a different optimizer");
  if (!arguments.parse(words)) return 0;
  refuse_checkpoint(asked, detach, globals.store);
  require_overrides(asked.overrides, "fork");
  const auto run = [&](const AttemptBegun& begun) {
    return perform_among_ranks(
        globals.level, [&](const auto& ranks) { return fork(asked, ranks, begun, globals); });
  };
  return detach ? launch_in_background(globals.store, run) : run({});
}

}  // namespace exprun
