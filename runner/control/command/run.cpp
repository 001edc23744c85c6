// exprun RECIPE [key=value...]
#include <algorithm>
#include <iterator>

#include "base/diagnostic.h"
#include "base/strings.h"
#include "base/terminal/console.h"
#include "control/command/line/arguments.h"
#include "control/command/line/override_completions.h"
#include "control/command/line/recipe_words.h"
#include "control/command/stored/stored_runs.h"
#include "control/launch/background.h"
#include "control/launch/prepared_launch.h"
#include "control/launch/ranks/distributed_command.h"
#include "control/launch/ranks/restart_detection.h"
#include "control/launch/run/new_run.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/recipe_difference.h"
#include "control/launch/run/run_data.h"
#include "control/launch/run/which_run.h"
#include "control/launch/weights/initial_weights.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

// "run.steps: 80 (was 40)", of a run that was extended since it ran the recipe as written.
std::string changes_since(const Store& store, const RunRow& run, const ResolvedRecipe& resolved) {
  return differing_parameters(store.parameters(run.id), parameter_rows(resolved));
}

// Those that a file or the command line writes are the changed ones. Without tags, which go to the
// run that is there.
std::vector<ParameterRow> written_parameters(const ResolvedRecipe& recipe) {
  auto rows = parameter_rows(recipe);
  for (ParameterRow& row : rows) {
    const Value* const value = recipe.find(row.path);
    const bool is_written = value != nullptr && (value->origin == Origin::file ||
                                                 value->origin == Origin::command_line);
    row.changed = is_written && !is_auto(*value);
  }
  std::erase_if(rows, [](const ParameterRow& row) { return row.path == "run.tags"; });
  return rows;
}

// ", with metrics.timers: true (was false)", of keys that make no other recipe and that one of the
// two writes.
std::string changes_of_new_run(const Store& store, const RunRow& run,
                               const ResolvedRecipe& resolved) {
  const ResolvedRecipe before = try_resolve(stored_recipe(store, run)).recipe;
  const std::string changes =
      differing_parameters(written_parameters(resolved), written_parameters(before));
  return changes.empty() ? "" : ", with " + changes;
}

// "mine-1a2b3c4d is this recipe's run, and it ", of what follows.
std::string run_of_recipe(const Store& store, const RunRow& run, const ResolvedRecipe& resolved) {
  const std::string changes = changes_since(store, run, resolved);
  const bool is_extended = run.recipe_hash != resolved.hash() && !changes.empty();
  return run.folder + " is this recipe's run" + (is_extended ? ", continued with " + changes : "") +
         ", and it ";
}

[[noreturn]] void refuse_running(const Store& store, const StoreFolder& folder, const RunRow& run,
                                 const ResolvedRecipe& resolved) {
  const std::string words = folder.words_for(run.folder);
  const std::string stop = is_elsewhere(run) ? "" : "exprun stop " + words + " saves and ends it, ";
  throw Error(
      "launch: " + run_of_recipe(store, run, resolved) +
      is_running(run, "exprun logs " + words + " -f follows it, " + stop + "--new starts another"));
}

std::string what_happened(RunState state) {
  const bool by_itself =
      state == RunState::failed || state == RunState::diverged || state == RunState::crashed;
  return by_itself ? to_string(state) : std::string("was ") + to_string(state);
}

// The command that goes on with a run that ended like this one.
std::string next_command(const Store& store, const StoreFolder& folder, const RunRow& run) {
  const bool has_checkpoint = !store.checkpoints(run.id).empty();
  const std::string words = folder.words_for(run.folder);
  if (run.state == RunState::diverged)  // what is repeated exactly diverges again
    return (has_checkpoint
                ? "exprun fork " + words +
                      " lr=...   continues from its newest checkpoint with a change, --step N from "
                      "an earlier one\n  "
                : "") +
           "exprun rerun " + words + " lr=...   trains it again with a change";
  if (has_checkpoint)
    return "exprun resume " + words + "   continues it from its newest checkpoint";
  return "exprun resume " + words + "   trains it again from the start: it has no checkpoint";
}

[[noreturn]] void refuse_ended(const Store& store, const StoreFolder& folder, const RunRow& run,
                               const ResolvedRecipe& resolved) {
  throw Error("launch: " + run_of_recipe(store, run, resolved) + what_happened(run.state) +
              " at step " + std::to_string(run.last_step) +
              (run.message.empty() ? "" : ": " + run.message) + "\n  " +
              next_command(store, folder, run) + "\n  --new   starts another run");
}

// Of a finished run.
void show_result(Store& store, const StoreFolder& folder, const ResolvedRecipe& resolved,
                 const Launch& launched) {
  const RunRow& run = launched.run;
  add_new_tags_aloud(store, run, resolved);
  if (is_shown(LogLevel::info)) print(result_of(store, folder, run));
  const bool is_extended = run.recipe_hash != resolved.hash();
  const auto data = data_fingerprint(
      resolved, folder.data(), launched.has_runs_on_other_data ? Reading::all : Reading::little);
  if (!data && launched.has_runs_on_other_data)
    log_warning(
        std::string("the data that the recipe names cannot be read, so nothing tells whether this "
                    "run was trained on it, and other runs of the same recipe were trained on "
                    "other data; ") +
        kDataPrepareTells);
  if (has_other_data(resolved, data, run, folder.run(run.folder)))
    log_warning(
        "the data that the recipe names is not what this run was trained on; --new trains on it");
  log_info(is_extended
               ? "nothing to do: " + run.folder + ", the run of this recipe, was continued with " +
                     changes_since(store, run, resolved) + "; --new trains the recipe as written"
               : "nothing to do: this recipe has been run; --new runs it again" +
                     changes_of_new_run(store, run, resolved));
}

Performed answer(Store& store, const StoreFolder& folder, const ResolvedRecipe& resolved,
                 const Launch& launched) {
  switch (launched.decision) {
    case Decision::refuse_running:
      refuse_running(store, folder, launched.run, resolved);
    case Decision::refuse_ended:
      refuse_ended(store, folder, launched.run, resolved);
    case Decision::show_result:
      show_result(store, folder, resolved, launched);
      return {};
    case Decision::start_new:
    case Decision::continue_run:
      break;
  }
  return performed(launched);
}

// Throws RecipeError with the mistakes of the recipe and the files that are missing beside them.
void require_sound(const RecipeText& text, const Globals& globals) {
  const Resolution resolution = try_resolve(text);
  if (!has_errors(resolution.diagnostics)) return;
  DatasetGlances glances(globals.store.data());
  DataGlance glance = glance_at_files(resolution, globals.store, glances);
  Diagnostics problems = try_resolve(text, glance.dataset_info).diagnostics;
  std::move(glance.problems.begin(), glance.problems.end(), std::back_inserter(problems));
  throw RecipeError(first_of(std::move(problems)));
}

Performed run_here(HeldRecipe recipe, bool always_new, const std::optional<LocalRanks>& ranks,
                   const AttemptBegun& begun, const Globals& globals) {
  require_sound(recipe.text, globals);
  LaunchRequest request = request_for(std::move(recipe.text), globals);
  request.held_weights = &recipe.weights;
  request.ranks = ranks;
  request.begun = begun;
  // A first run that cannot begin leaves nothing behind, not even an empty store.
  std::error_code ignored;
  if (!std::filesystem::exists(globals.store.database(), ignored))
    require_at_first_sight(request, globals.store, std::nullopt);
  Store store = open_store_to_write(globals.store);
  const Launch launched = launch_detecting_restart(store, globals.store, request, always_new);
  return answer(store, globals.store, request.resolved, launched);
}

// For ranks above 0, who get the recipe from rank 0: it need not be on their machine, but one that
// is there must be the same.
OwnHash recipe_here(const std::string& recipe, const Words& overrides,
                    const std::optional<LocalRanks>& ranks) {
  std::error_code ignored;
  if (!std::filesystem::exists(recipe, ignored)) return {};
  try {
    const auto resolved = resolve(with_world_size_of(ranks, read_recipe(recipe, overrides)));
    if (may_begin_with_run(resolved)) return {};  // the store of rank 0 knows with which checkpoint
    return resolved.hash();
  } catch (const RecipeError&) {
    return "one with mistakes";  // where rank 0 finds them too, it says so
  }
}

}  // namespace

int run_recipe(const Words& words, const Globals& globals) {
  std::string recipe;
  Words overrides;
  bool always_new = false, detach = false;
  MachineOptions machines;
  Arguments arguments("RECIPE [key=value...] [--new] [--detach]",
                      "Runs a recipe. Repeating the command continues a run that was interrupted "
                      "and shows the result of one that is finished.");
  arguments.word("RECIPE", recipe, "a TOML file", offer::recipes)
      .words("key=value...", overrides,
             "overrides of the recipe's keys: lr=3e-4 checkpoint.every=\"5 steps\"", offer::changes)
      .flag("--new", always_new, "start a new run, even if this recipe has one")
      .flag("--detach", detach, kDetachHelp);
  machines.add_to(arguments);
  arguments
      .note(
          "Ctrl-C or SIGTERM saves, then exits; a second one exits at once. If the recipe has "
          "changed, exprun starts a new run and shows the changes.")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe, ExitCode::diverged,
                   ExitCode::store_error, ExitCode::preempted, ExitCode::interrupted_int,
                   ExitCode::interrupted_term})
      .example("exprun recipes/quickstart.toml lr=3e-4", "with a different learning rate")
      .example("exprun recipes/quickstart.toml --detach",
               "in the background; see exprun logs and exprun stop")
      .example("exprun mine.toml --nnodes=2 --node-rank=1 --rdzv-endpoint=box:29500",
               "as the second of two machines")
      .example("exprun recipes/quickstart.toml '~warmup' --new", "a new run, without warmup");
  if (!arguments.parse(words)) return 0;
  require_overrides(overrides, "command line");
  const auto ranks = machines.local_ranks(overrides);
  std::optional<RecipeText> read;  // a pipe can be read once
  const auto own = [&](const auto&) { return recipe_here(recipe, overrides, ranks); };
  const auto run = [&](const AttemptBegun& begun) {
    return perform_among_ranks(globals.level, ranks, own, [&](const auto& rank_0) {
      HeldRecipe held = with_checkpoint_of_run(
          with_world_size_of(rank_0, read ? *read : read_recipe(recipe, overrides)), globals.store,
          always_new);
      return run_here(std::move(held), always_new, rank_0, begun, globals);
    });
  };
  if (!detach) return run({});
  refuse_detached_machines(ranks);
  read = read_recipe(recipe, overrides);
  require_sound(*read, globals);  // mistakes are shown here
  return launch_in_background(globals.store, run);
}

}  // namespace exprun
