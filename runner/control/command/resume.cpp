// exprun resume RUN [key=value...]
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/strings.h"
#include "base/terminal/console.h"
#include "control/command/line/arguments.h"
#include "control/command/line/override_completions.h"
#include "control/command/line/recipe_words.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/launch/background.h"
#include "control/launch/ranks/distributed_command.h"
#include "control/launch/ranks/restart_detection.h"
#include "control/launch/run/extended_run.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/run/repeated_run.h"
#include "control/launch/run/which_run.h"
#include "control/report/standard_output.h"
#include "store/run_state.h"

namespace exprun {
namespace {

// A fork keeps the weights of its checkpoint; only their shapes, which are not known here, would
// tell for certain.
bool may_make_other_weights(const Difference& change, const ResolvedRecipe& now) {
  const std::string& path = change.path;
  if (path.starts_with("model.")) return path != "model.dropout";
  const bool is_dtype =
      path == "precision.parameters" || path == "precision.embedding" || path == "precision.linear";
  return is_dtype || path == "dataset.tokenizer" ||
         (path.starts_with("dataset.") && text_at(now.root(), "dataset.tokenizer") == "char");
}

void require_same_recipe(const ResolvedRecipe& now, const ResolvedRecipe& before, const RunRow& run,
                         const Words& overrides, std::optional<int64_t> newest_checkpoint,
                         const Globals& globals) {
  std::string changes;
  const auto all = differences(before, now);
  if (is_extension(before, now) && before.hash() == run.recipe_hash) return;
  for (const Difference& difference : all) changes += "\n  " + change_text(difference);
  if (changes.empty() && now.hash() == run.recipe_hash) return;
  if (changes.empty())
    throw Error(
        "resume: this version of exprun understands the recipe of " + run.folder +
            " differently; continue the run with the version that started it, or run the recipe "
            "again",
        ExitCode::bad_recipe);
  std::string with = shell_quoted(run.folder);
  for (const std::string& word : overrides) with += ' ' + shell_quoted(word);
  const bool has_length = std::any_of(all.begin(), all.end(), [](const Difference& difference) {
    return difference.path == "run.steps" || difference.path == "run.length";
  });
  // A fork of a run that is at its end needs more steps.
  const bool is_over = run.last_step == run.steps && !has_length;
  const std::string longer = is_over ? " run.steps=" + std::to_string(2 * run.steps) : "";
  const std::string option = store_option(globals.store);
  const bool has_other_weights = std::ranges::any_of(
      all, [](const Difference& difference) { return difference.path == "model.init_from"; });
  // A fork begins with the weights of its checkpoint, whatever its recipe says.
  const bool can_be_repeated =
      why_not_repeated(globals.store, run).empty() && (run.origin.empty() || !has_other_weights);
  const std::string anew = "` trains a new run with the change";
  std::string ways;
  if (can_be_repeated) ways = "; `exprun rerun " + with + option + anew;
  const bool keeps_weights = std::ranges::none_of(
      all, [&](const Difference& change) { return may_make_other_weights(change, now); });
  const bool has_other_state = std::ranges::any_of(
      all, [](const Difference& change) { return change.path == "optimizer.type"; });
  const std::string fresh = has_other_state ? " --fresh-optimizer" : "";
  const auto steps = integer_at(now.root(), "run.steps");
  const bool has_steps_left =
      newest_checkpoint && (is_over || (steps ? *steps > *newest_checkpoint : !has_length));
  if (keeps_weights && has_steps_left)
    ways += (can_be_repeated ? ", `exprun fork " : "; `exprun fork ") + with + longer + fresh +
            option + (can_be_repeated ? "` one that goes on from here" : anew + " from here on");
  throw Error(
      "resume: " + run.folder + " cannot continue with a different recipe:" + changes +
          "\n  a resume may change only keys that do not affect results (checkpoint.every, "
          "metrics.every, run.tags), the length of the run, and a higher run.early_stop.patience "
          "or none (~run.early_stop)" +
          ways,
      ExitCode::bad_recipe);
}

void require_same_name(const RunRow& run, const ResolvedRecipe& before, const ResolvedRecipe& now) {
  const auto name_in = [](const ResolvedRecipe& recipe) {
    return recipe.section("run").get<std::string>("name");
  };
  if (name_in(now) != name_in(before))
    throw Error("resume: " + run.folder + " keeps its name; leave run.name out",
                ExitCode::bad_recipe);
}

// The trainer would end it again where it stands.
void require_patience(const RunRow& run, const ResolvedRecipe& before, const ResolvedRecipe& now) {
  if (!ended_early(run) || waits_longer(before, now)) return;
  const std::string why =
      run.message.empty() ? "ended early at step " + std::to_string(run.last_step) : run.message;
  throw Error("resume: " + run.folder + ' ' + why + "\n  more steps do not continue it; add " +
                  more_patience(before),
              ExitCode::bad_recipe);
}

// Of a finished run that was meant by its name: an unfinished one of the same name.
std::string namesake_to_continue(const Store& store, const RunRow& run,
                                 const std::string& reference, const Globals& globals) {
  if (reference != run.name) return "";
  for (const RunRow& other : store.runs(run.name)) {
    const RunRow seen = as_observed(other, globals.store.path);
    if (which_run({seen}, false).decision != Decision::continue_run ||
        !has_folder(globals.store, seen.folder))
      continue;
    return "; `exprun resume " + globals.store.words_for(seen.folder) +
           "` continues another run of this name, which stopped at step " +
           std::to_string(seen.last_step);
  }
  return "";
}

std::string why_nothing_is_to_do(const Store& store, const RunRow& run,
                                 const std::string& reference, const ResolvedRecipe& recipe,
                                 const Globals& globals) {
  if (!ended_early(run))
    return "nothing to do: the run is finished" +
           namesake_to_continue(store, run, reference, globals);
  const bool is_trial = !store.sweeps_with_run(run.id).empty();
  return std::string("nothing to do: the run ended early; `exprun ") +
         (is_trial ? "fork " : "resume ") + shell_quoted(run.folder) + ' ' + more_patience(recipe) +
         store_option(globals.store) +
         (is_trial ? "` starts a new run from here" : "` continues it");
}

void require_ended(const RunRow& run) {
  if (run.state == RunState::running)
    throw Error("resume: " + run.folder + ' ' + is_running(run, "stop it first"));
}

// An extension that was cut off before its attempt began has left its recipe in the folder only.
RecipeText recipe_to_go_on_with(const Store& store, const RunRow& run, const Globals& globals) {
  RecipeText latest = latest_recipe(store, globals.store, run);
  const Resolution resolution = try_resolve(latest);
  const bool is_that = resolution.recipe.hash() == run.recipe_hash;
  return is_that ? latest : stored_recipe(store, run);
}

// The run goes on as it began, which those who have edited its recipe may not expect. A file with
// mistakes says nothing of what the next run would be.
void say_if_file_changed(const LaunchRequest& request, const RunRow& run) try {
  const std::string& name = request.text.files.front()->name;
  const auto file = std::filesystem::path(run.working_directory) / name;
  const bool is_stream = name.starts_with("/dev/") || name.starts_with("/proc/");
  if (is_stream || !file_exists(file)) return;
  RecipeText now = request.text;
  now.files = read_recipe(file, {}).files;
  const auto text_of = [](const auto& each) -> const std::string& { return each->text; };
  if (std::ranges::equal(now.files, request.text.files, {}, text_of, text_of)) return;
  std::string changes;
  for (const Difference& change : differences(request.resolved, resolve(now)))
    changes += "\n  " + change_text(change);
  if (changes.empty()) return;
  log_info(run.folder + " keeps its own recipe, from which " + name + " differs by now:" + changes);
} catch (const std::runtime_error& error) {  // Error, RecipeError: the run needs its file no more
  log(LogLevel::debug, error.what());
}

Performed resume(const std::string& reference, const Words& overrides,
                 const std::optional<LocalRanks>& ranks, const AttemptBegun& begun,
                 const Globals& globals) {
  Store store = open_store_to_change(globals.store);
  RunRow run = find_run_for_folder(store, globals.store, reference);
  const auto variable = [](const char* name) { return std::getenv(name); };
  const bool restarted = restarts_before(variable) > 0;
  await_previous_attempt(restarted, [&] {
    run = ended_without_launcher(store, reconciled(store, *store.run(run.id)));
    if (restarted) give_up_lost_machine(store, run, variable);
    return run.state != RunState::running;
  });
  if (!on_another_host(run)) require_ended(run);
  if (run.state != RunState::finished || !overrides.empty())
    require_run_folder(globals.store, run, "resume");
  if (!ranks && run.state != RunState::finished)
    require_ranks_for_one_machine(store, run, "resume", overrides);
  RecipeText text = recipe_to_go_on_with(store, run, globals);
  const RecipeText text_before = text;
  const ResolvedRecipe before = resolve_stored(text, "resume", reference);
  text.type(overrides);
  LaunchRequest request =
      request_for(with_world_size_of(ranks, std::move(text)), globals, before.warnings());
  request.ranks = ranks;
  request.begun = begun;
  const auto checkpoints = complete_checkpoints(globals.store.run(run.folder));
  require_same_recipe(request.resolved, before, run, overrides,
                      checkpoints.empty() ? std::nullopt : std::optional(checkpoints.front().step),
                      globals);
  require_same_name(run, before, request.resolved);
  require_ended(run);
  request.extends = is_extension(before, request.resolved);
  if (request.extends) {
    require_no_trial(store, globals.store, run, overrides);
    if (!ranks && run.state == RunState::finished)
      require_ranks_for_one_machine(store, run, "resume", overrides);
    require_patience(run, before, request.resolved);
    require_same_past(globals.store, run, text_before, request.text, overrides);
  }
  say_if_file_changed(request, run);
  if (run.state == RunState::finished && !request.extends) {
    add_new_tags_aloud(store, run, request.resolved);
    if (is_shown(LogLevel::info)) print(result_of(store, globals.store, run));
    log_info(why_nothing_is_to_do(store, run, reference, before, globals));
    return {0, false};
  }
  return performed(launch_continuation(store, globals.store, request, run));
}

}  // namespace

int run_resume(const Words& words, const Globals& globals) {
  std::string reference;
  Words overrides;
  bool detach = false;
  Arguments arguments(
      "resume RUN [key=value...] [--detach]",
      "Continues a run from its newest complete checkpoint, whatever ended it. With a "
      "different run.steps or run.length, the run continues to that length; with a higher "
      "run.early_stop.patience, a run that ended early goes on.");
  arguments.run_word(reference)
      .words("key=value...", overrides,
             "a new length (run.steps=200), more patience, or overrides that do not affect results "
             "(checkpoint.every=\"5 steps\")",
             offer::changes)
      .flag("--detach", detach, kDetachHelp);
  MachineOptions machines;
  machines.add_to(arguments);
  arguments.exit_codes(kTrains)
      .example("exprun resume @last", "continue the newest run")
      .example("exprun resume @last checkpoint.every=\"100 steps\"",
               "the same, with fewer checkpoints")
      .example("exprun resume @last run.steps=2000",
               "train longer, if that leaves past learning rates unchanged")
      .note(
          "An extended run evaluates, saves and logs as often as a run of the new length would, "
          "from its first new step on, unless its recipe says how often. A trial of a sweep "
          "cannot be extended; use exprun fork, so that the sweep keeps its result.");
  if (!arguments.parse(words)) return 0;
  require_overrides(overrides, "resume");
  const auto machine = machines.local_ranks(overrides);
  const auto run = [&](const AttemptBegun& begun) {
    return perform_among_ranks(globals.level, machine, [&](const auto& ranks) {
      return resume(reference, overrides, ranks, begun, globals);
    });
  };
  if (!detach) return run({});
  refuse_detached_machines(machine);
  return launch_in_background(globals.store, run);
}

}  // namespace exprun
