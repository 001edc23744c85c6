// exprun sweep [RECIPE] key=a,b,c...
#include "control/command/sweep.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "base/terminal/console.h"
#include "control/command/line/override_completions.h"
#include "control/command/line/recipe_words.h"
#include "control/command/line/table_format.h"
#include "control/command/stored/recorded_criterion.h"
#include "control/command/stored/stored_runs.h"
#include "control/data/evaluation_files.h"
#include "control/launch/background.h"
#include "control/launch/prepared_launch.h"
#include "control/launch/process/child_process.h"
#include "control/launch/ranks/distributed_command.h"
#include "control/report/compare/report_columns.h"
#include "control/sweep/outcomes.h"
#include "control/sweep/run/forecast.h"
#include "control/sweep/run/preflight.h"
#include "control/sweep/run/run_trials.h"
#include "control/sweep/run/slots.h"
#include "control/sweep/run/trial_process.h"

namespace exprun {
namespace {

struct Base {
  RecipeText text;
  std::optional<RunRow> run;  // whose recipe it is, if none was given
  std::string recipe = {};    // the file's name, if one was given
};

Error no_run_to_sweep_over() {
  return Error(
      "sweep: there is no run outside of a sweep to take the recipe from; give a recipe: exprun "
      "sweep RECIPE lr=1e-4,3e-4",
      ExitCode::no_such_run);
}

Base latest_plain_run(const StoreFolder& folder) {
  if (!std::filesystem::exists(folder.database())) throw no_run_to_sweep_over();
  const Store store = open_store(folder);
  for (const RunRow& run : store.runs()) {
    if (run.sweep_id) continue;
    log_info("sweeping over the recipe of " + run.folder +
             (run.origin.empty() ? "" : ", a fork: trials begin at step 0, without its weights"));
    return {understood_recipe(store, run, {}, "sweep", run.folder), run};
  }
  throw no_run_to_sweep_over();
}

std::string meant_subcommand(const std::string& word) {
  if (word == "rm" || word == "delete" || word == "remove")
    return "; to remove the runs of a sweep, use exprun rm --sweep SWEEP";
  if (word == "resume" || word == "continue" || word == "restart")
    return "; the command that began a sweep continues it";
  return meant_command_or_recipe(sweep_commands(), word, "exprun sweep --help");
}

// The first word is the recipe unless it is a key with values already.
Base base_of(Words& words, const StoreFolder& folder) {
  if (words.empty() || words[0].find('=') != std::string::npos || words[0].starts_with('~'))
    return latest_plain_run(folder);
  const std::string recipe = words[0];
  if (!recipe.empty() && !names_recipe(recipe))
    throw Error("sweep: '" + recipe + "' is neither a recipe nor a sweep command" +
                    meant_subcommand(recipe),
                ExitCode::bad_recipe);
  words.erase(words.begin());
  return {read_recipe(recipe, {}), std::nullopt, recipe};
}

std::string standing_word(const WhichRun& which) {
  return which.run ? to_string(which.run->state) : "to run";
}

std::vector<Cell> trial_cells(const Store* store, const StoreFolder& folder, const SweepPlan& plan,
                              const Trial& trial) {
  const WhichRun which = store ? standing(*store, folder, trial) : WhichRun{};
  const auto best = which.run ? best_score(*store, plan, which.run->id) : std::nullopt;
  return {Cell::integer(trial.number),
          Cell::word(label(trial)),
          Cell::word(standing_word(which)),
          best ? Cell::number(best->value) : Cell::none(),
          best ? Cell::integer(best->step) : Cell::none(),
          which.run ? Cell::word(which.run->folder) : Cell::none()};
}

std::optional<Store> store_if_any(const StoreFolder& folder) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(folder.database(), error);
  if (error || bytes == 0) return std::nullopt;  // another process may be about to make it
  return open_store(folder);
}

Forecast forecast_of(const SweepPlan& plan, const Store* store, const StoreFolder& folder,
                     const SweepOptions& options) {
  return forecast(store, folder, plan, options.retry_failed, options.jobs, slot_machine());
}

Forecast forecast_of(const SweepPlan& plan, const StoreFolder& folder,
                     const SweepOptions& options) {
  const std::optional<Store> store = store_if_any(folder);
  return forecast_of(plan, store ? &*store : nullptr, folder, options);
}

// Another machine may have what this one lacks.
void say_what_is_ahead(const SweepPlan& plan, const Globals& globals, const SweepOptions& options,
                       DatasetGlances& glances) {
  const Forecast ahead = forecast_of(plan, globals.store, options);
  log_info(forecast_text(plan, ahead));
  try {
    require_startable(ahead.to_begin, globals.store, glances);
  } catch (const RecipeError& error) {
    Diagnostics lacking = error.diagnostics();
    for (Diagnostic& diagnostic : lacking) diagnostic.severity = Severity::warning;
    show_diagnostics(lacking);
    log_warning("the sweep does not start while this is so");
  } catch (const Error& error) {
    log_warning(error.what());
  }
}

ResultTable trials_table(const SweepPlan& plan, const StoreFolder& folder) {
  const std::optional<Store> store = store_if_any(folder);
  const Criterion criterion = criterion_of(plan);
  ResultTable table{{{"trial", "trial", true},
                     {"changes", "changes"},
                     {"state", "state"},
                     value_column(criterion),
                     step_column(criterion),
                     {"run", "run", false, kPriorityDetail}},
                    {}};
  for (const Trial& trial : plan.trials)
    table.rows.push_back(trial_cells(store ? &*store : nullptr, folder, plan, trial));
  return table;
}

// Large datasets that were never prepared tell little here. What is missing is said of trials that
// begin, by require_startable().
GlanceAtData what_data_tell(DatasetGlances& glances) {
  return [&glances](const Resolution& resolution) {
    DataGlance glance;
    if (!resolution.is_valid("dataset")) return glance;
    glance.dataset_info = glances.of(resolution.recipe).dataset_info;
    return glance;
  };
}

// A trial that goes on with data that were edited would fail, and what has ended tells nothing of
// these.
void look_for_other_data(SweepPlan& plan, const StoreFolder& folder, const SweepOptions& options,
                         DatasetGlances& glances, bool dry_run) {
  const std::optional<Store> store = store_if_any(folder);
  if (!store) return;
  identify_data(plan, *store, folder, glances);
  const OtherData other = other_data(*store, folder, plan, options.retry_failed);
  if (!other.cannot_go_on.empty() && !dry_run) throw Error("sweep: " + other.cannot_go_on);
  for (const std::string& text : {other.unknown, other.cannot_go_on, other.ended, other.go_on})
    if (!text.empty()) log_warning(text);
}

// A trial that was stopped early may still be promoted.
bool may_train(const Forecast& ahead) {
  return ahead.to_run > 0 || ahead.ended.contains(RunState::pruned);
}

int run_all(const SweepPlan& plan, const Globals& globals, const SweepOptions& options,
            const std::string& recipe, DatasetGlances& glances, bool yes) {
  outlive_readers();
  Store store = open_store_to_write(globals.store);
  const Forecast ahead = forecast_of(plan, &store, globals.store, options);
  log_info(forecast_text(plan, ahead));
  if (!yes) require_consent(ahead);
  require_startable(ahead.to_begin, globals.store, glances);
  const SweepEnd end = run_trials(store, globals.store, plan, options);
  say_how_it_ended(store, globals.store, plan, end, recipe);
  if (end.stopped) return *end.stopped;
  return static_cast<int>(end.failed ? ExitCode::failed_trials : ExitCode::done);
}

// What a scheduler starts for each of its trials.
int run_one(const Globals& globals) {
  Store store = open_store_to_write(globals.store);
  return run_trial(store, globals.store);
}

Words changes_of_latest(const Typed& typed) {
  return override_completions(latest_plain_run(typed.store).text, typed.last);
}

constexpr Command kSweepCommands[] = {
    {"ls", "list the sweeps", run_sweep_ls},
    {"show", "show the trials of a sweep and their results", run_sweep_show},
    {"stop", "stop a sweep; its trials save their state", run_sweep_stop},
};

}  // namespace

std::span<const Command> sweep_commands() {
  return kSweepCommands;
}

int run_sweep(const Words& words, const Globals& globals) {
  if (words == Words{kRunTrial}) return run_one(globals);
  if (const Command* command =
          words.empty() ? nullptr : find_command(kSweepCommands, words.front()))
    return command->run({words.begin() + 1, words.end()}, globals);
  Words rest;
  bool dry_run = false, keep_going = false, yes = false, detach = false;
  int64_t jobs = 1;
  SweepOptions options;
  SearchOptions search;
  TableFormat format;
  Arguments arguments("sweep [RECIPE] key=a,b,c...",
                      "Runs every combination of values. The same command continues an unfinished "
                      "sweep.");
  arguments
      .words("RECIPE", rest, "a TOML file (default: the recipe of the newest run not in a sweep)",
             offer::recipe_or(changes_of_latest))
      .form("key=a,b,c",
            "values of a key; also 'key=range(1,9,2)', 'key=linspace(0,1,5)', "
            "'key=logspace(1e-4,1e-2,5)'")
      .form("'zip(key=[a,b], other=[c,d])'", "keys whose values change together")
      .form("key=log:1e-5..1e-2",
            "with --trials: draw from an interval on a log scale; for a linear scale, "
            "'key=interval(0,1)'")
      .form("key=value", "an override for every trial");
  for (const Command& command : kSweepCommands) arguments.form(command.name, command.help);
  arguments.flag("--dry-run", dry_run, "list the trials and their states; start none")
      .option("--points", "FILE", search.points, "a CSV or TOML file of points")
      .number("--seeds", search.seeds, "run each point with N values of run.seed", 1)
      .number("--trials", search.trials, "run a random search with N trials in all", 1)
      .number("--random-seed", search.random_seed,
              "seed of the random search: a different N draws different points (default: 0)")
      .flag("--yes", yes, "start more than 100 trials without asking")
      .flag("--detach", detach, "run in the background; `exprun sweep stop` ends it")
      .number("-j,--jobs", jobs, "trials at a time (default: 1)", 1)
      .option("--early-stop", "RULE", search.early_stop,
              "stop trials that fall behind: asha or median (default: none)",
              offer::one_of({"asha", "median", "none"}))
      .number("--reduction", search.reduction,
              "asha: one in N trials continues at each rung (default: 4)", 2)
      .number("--min-steps", search.min_steps,
              "stop no trial before step N, which is also asha's first rung (default: steps / "
              "reduction^2, or the evaluation's `every` if that is longer)",
              1)
      .option("--summary", "WORD", search.summary,
              "compare trials by the min, max or last value of the metric (default: the best)",
              offer::one_of({"min", "max", "last"}))
      .flag("--retry-failed", options.retry_failed, "restart trials that failed or diverged")
      .flag("--fail-fast", options.fail_fast,
            "stop when a trial started by this command fails; the others save and end")
      .flag("--keep-going", keep_going, "continue when a trial fails (the default)")
      .note(
          "With -j N, each trial runs on its own share of the cores and sees as many GPUs as it "
          "has ranks. If the same command runs in several terminals, they share the trials: each "
          "trial is run once. Ctrl-C stops the trials, which save their state; the same command "
          "continues them. The best trial is chosen from those that finished; with several seeds, "
          "the point with the best mean is chosen.")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe, ExitCode::no_such_run,
                   ExitCode::store_error, ExitCode::failed_trials, ExitCode::preempted,
                   ExitCode::interrupted_int, ExitCode::interrupted_term})
      .example("exprun sweep recipes/quickstart.toml lr=1e-4,3e-4,1e-3 num_layers=2,4", "6 trials")
      .example("exprun sweep 'seed=range(3)'", "the newest run with other seeds");
  format.declare(arguments);
  if (!arguments.parse(words)) return 0;
  format.check();
  if (options.fail_fast && keep_going)
    throw Error("sweep: give one of --fail-fast and --keep-going", ExitCode::bad_recipe);
  if (detach && (dry_run || !format.is_plain()))
    throw Error(
        "sweep: --detach has no table to print; leave out --dry-run, --json, --csv and "
        "--markdown",
        ExitCode::bad_recipe);
  options.jobs = static_cast<size_t>(jobs);
  options.command_line = globals.command_line;
  options.level = globals.level;
  if (rest.empty() && search.points.empty() && !search.seeds)
    throw Error(
        "sweep: give a recipe, and keys with their values: exprun sweep RECIPE "
        "lr=1e-4,3e-4; `exprun sweep ls` lists the sweeps that there are",
        ExitCode::bad_recipe);
  if (!dry_run) require_no_external_launcher("sweep");
  const Base base = base_of(rest, globals.store);
  for (size_t i = 0; i < rest.size(); ++i)
    if (const std::string joined = without_blanks(rest, i); !joined.empty())
      throw Error("sweep: write " + joined + ", without spaces", ExitCode::bad_recipe);
  const WorkingDirectory there(base.run);
  DatasetGlances glances(globals.store.data());
  SweepPlan plan = plan_sweep(base.text, rest, search, what_data_tell(glances));
  const std::vector<FileLock> weights = find_initial_weights(plan, globals.store, glances);
  show_diagnostics(plan.warnings);
  const ResolvedRecipe& first = plan.trials.front().resolved;
  show_diagnostics(long_evaluations_of_files(first, glances.of(first).dataset_info));
  look_for_other_data(plan, globals.store, options, glances, dry_run);
  if (detach && may_train(forecast_of(plan, globals.store, options)))
    return sweep_in_background(globals.store, [&](const SweepBegun& begun) {
      options.begun = begun;
      return run_all(plan, globals, options, base.recipe, glances, yes);
    });
  if (dry_run) say_what_is_ahead(plan, globals, options, glances);
  const int exit_code = dry_run ? 0 : run_all(plan, globals, options, base.recipe, glances, yes);
  if (dry_run || !format.is_plain()) format.print(trials_table(plan, globals.store), "no trials");
  return exit_code;
}

}  // namespace exprun
