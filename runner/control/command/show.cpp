#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/period.h"
#include "base/strings.h"
#include "base/terminal/terminal.h"
#include "control/command/command.h"
#include "control/command/line/arguments.h"
#include "control/command/line/override_completions.h"
#include "control/command/line/recipe_words.h"
#include "control/command/line/table_format.h"
#include "control/command/show_recipe.h"
#include "control/command/stored/recorded_criterion.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/data/prepare.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/run/repeated_run.h"
#include "control/launch/trainer_program.h"
#include "control/report/editable_toml.h"
#include "control/report/plan.h"
#include "control/report/run_details.h"
#include "control/report/standard_output.h"
#include "control/report/table.h"
#include "control/sweep/trials.h"
#include "recipe/quantities.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"
#include "recipe/sweep/sweep_table.h"
#include "recipe/toml/write.h"
#include "recipe/value.h"
#include "store/run_state.h"
#include "text/prepared_data.h"

namespace exprun {
namespace {

// exprun show RUN: what is known of a run that is in the store.
struct ShowRunOptions {
  bool json = false;      // everything, for a script
  bool attempts = false;  // these instead
  bool diff = false;      // what its code differed in from its commit, instead
};

nlohmann::ordered_json object_of(const std::string& text) {
  auto json = parse_json_or_discard<nlohmann::ordered_json>(text);
  return json.is_object() ? json : nlohmann::ordered_json::object();
}

// The last of them ends as its run is seen to have ended, which nobody may have recorded.
std::vector<AttemptRow> observed_attempts(const Store& store, const RunRow& run) {
  auto attempts = store.attempts(run.id);
  for (AttemptRow& row : attempts) {
    if (row.attempt != run.attempt || row.state == to_string(run.state)) continue;
    row.state = to_string(run.state);
    row.ended_ms = run.ended_ms.value_or(run.last_beat_ms);
    row.exit_code = run.exit_code;
    row.signal = run.signal;
    row.message = run.message;
  }
  return attempts;
}

// What the newest attempt was asked to do: keys without an effect on results, which may change when
// a run continues, are in its folder only.
RecipeText newest_recipe(const Store& store, const RunRow& run, const StoreFolder& folder) {
  RecipeText stored = stored_recipe(store, run);
  if (has_errors(try_resolve(stored).diagnostics)) return stored;  // another version's
  try {
    RecipeText latest = latest_recipe(store, folder, run);
    if (try_resolve(latest).recipe.hash() == run.recipe_hash) return latest;
  } catch (const Error& damaged) {
    log(LogLevel::debug, damaged.what());
  }
  return stored;
}

// As it was resolved at the start, unless the newest attempt was asked for something else.
std::string resolved_toml_of(const Store& store, const RunRow& run, const StoreFolder& folder) try {
  const RecipeText newest = newest_recipe(store, run, folder);
  if (newest.to_json() == stored_recipe(store, run).to_json()) return store.resolved_toml(run.id);
  return try_resolve(newest, dataset_info_of(folder, run)).recipe.to_toml();
} catch (const Error&) {
  return store.resolved_toml(run.id);
}

// Its recipe, run from a file, begins with new weights.
std::string how_to_fork_again(const RunRow& run, const StoreFolder& folder) {
  if (run.origin.empty()) return "";
  const std::string why_not = why_not_repeated(folder, run);
  return "run from a file, this recipe begins at step 0; " +
         (why_not.empty() ? "`exprun rerun " + folder.words_for(run.folder) + "` forks again"
                          : "it " + why_not);
}

RunDetails details_of(const Store& store, const RunRow& run, const StoreFolder& folder) {
  return {run,
          shown_folder(folder, run.folder),
          has_folder(folder, run.folder),
          object_of(store.attempt_text(run.id, run.attempt, "environment")),
          object_of(store.attempt_text(run.id, run.attempt, "libraries")),
          observed_attempts(store, run),
          store.series(run.id),
          store.checkpoints(run.id),
          store.events(run.id),
          store.notes(run.id),
          resolved_toml_of(store, run, folder),
          !store.attempt_text(run.id, run.attempt, "diff").empty(),
          how_to_fork_again(run, folder),
          recorded_criterion(store, run)};
}

// As it was resolved then: another exprun's may have keys that this one does not know.
Table recorded_recipe(const RunDetails& details) {
  Diagnostics diagnostics;
  auto file =
      load_file(std::make_shared<SourceFile>(SourceFile{details.run.folder, details.resolved_toml}),
                diagnostics);
  if (!file) throw RecipeError(std::move(diagnostics));
  return std::move(file->root);
}

// What a run's recipe does not write, by path: what only the data told, and what follows from other
// keys, where this exprun understands them.
std::map<std::string, std::string> derived_values_of(const Store& store, const RunRow& run,
                                                     const StoreFolder& folder,
                                                     const RunDetails& details) {
  const Table recipe = recorded_recipe(details);
  std::map<std::string, std::string> derived;
  for (const ParameterRow& parameter : store.parameters(run.id))
    if (const Value* const value = find_path(recipe, parameter.path);
        value && is_auto(*value) && parameter.toml != toml_text(*value))
      derived.emplace(parameter.path, parameter.toml);
  derived.merge(derived_values(try_resolve(newest_recipe(store, run, folder)).recipe));
  return derived;
}

// Of files that git does not track it has the names only.
void print_code_diff(const Store& store, const RunRow& run) {
  print(store.attempt_text(run.id, run.attempt, "diff"));
  const auto environment = object_of(store.attempt_text(run.id, run.attempt, "environment"));
  auto untracked = environment.value("git_untracked", Words());
  if (environment.value("git_untracked_is_cut", false)) untracked.push_back("more");
  if (!untracked.empty()) log_info("untracked files: " + listed(untracked));
}

// A word that names neither a recipe nor a run may be meant as a recipe.
std::pair<Store, RunRow> run_called(const std::string& word, const Globals& globals) try {
  Store store = open_store(globals.store);
  RunRow run = find_run(store, globals.store, word);
  return {std::move(store), std::move(run)};
} catch (const Error& error) {
  const std::string meant = error.code() == ExitCode::no_such_run ? meant_recipe(word) : "";
  if (meant.empty()) throw;
  throw Error("show: '" + word + "' is neither a recipe nor a run" + meant, error.code());
}

// Prints the run. Throws Error, also when no run is called so.
void show_run(const std::string& reference, const ShowRunOptions& options, const Globals& globals) {
  if (options.json && (options.attempts || options.diff))
    throw Error("show: give only one of --json, --attempts and --git-diff", ExitCode::bad_recipe);
  const auto [store, run] = run_called(reference, globals);
  if (options.diff) return print_code_diff(store, run);
  const RunDetails details = details_of(store, run, globals.store);
  if (options.attempts) return print_plain(attempts_table(details.attempts), "--json has them");
  if (options.json) {
    auto json = details_as_json(details);
    json["hash"] = run.recipe_hash;
    json["recipe"] = to_json(recorded_recipe(details));
    return print(json_text(json, 2) + '\n');
  }
  print(
      details_as_comments(details, terminal_width()) + '\n' +
      editable_toml(details.resolved_toml, derived_values_of(store, run, globals.store, details)));
}

// exprun show RECIPE|RUN --schedule

using nlohmann::ordered_json;

constexpr size_t kScheduleHeight = 12;  // lines

// Of a run those that it trains on, of a recipe what is known of them so far.
DatasetInfo facts_about(const std::string& what, const ResolvedRecipe& recipe,
                        const Globals& globals) {
  if (names_recipe_file(what)) {
    DataGlance glance = glance_at_data(recipe, globals.store.data());
    if (has_errors(glance.problems)) throw RecipeError(std::move(glance.problems));
    return glance.dataset_info;
  }
  const RunRow run = run_called(what, globals).second;
  require_run_folder(globals.store, run, "show");
  return facts_of(PreparedData::load(globals.store.run(run.folder).data()));
}

// Whether a length of the run or of its schedule is in epochs, which only the data tell.
bool counts_epochs(const ResolvedRecipe& recipe) {
  for (const auto& [path, text] : recipe.leaves(false)) {
    if (!path.starts_with("run.") && !path.starts_with("schedule.")) continue;
    const auto* word = recipe.find(path)->as<std::string>();
    const auto period = word ? parse_period(*word) : std::nullopt;
    if (period && period->unit == PeriodUnit::epochs) return true;
  }
  return false;
}

// Prints the learning rates over the run that `text`, the recipe that `what` names, describes.
// Throws Error, also when only data that are not prepared tell how long it is.
void show_schedule(const std::string& what, const RecipeText& text, bool json,
                   const Globals& globals) {
  const ResolvedRecipe without_data = resolve(text);
  const DatasetInfo dataset_info =
      counts_epochs(without_data) ? facts_about(what, without_data, globals) : DatasetInfo{};
  const ResolvedRecipe recipe = resolve(text, dataset_info);
  if (!run_steps(recipe.root(), dataset_info))
    throw RecipeError(
        recipe.find("run.length")->where,
        "the number of steps is unknown until the data is prepared",
        "run the recipe, or prepare its data with exprun data prepare " + shell_quoted(what));
  const ordered_json schedule = describe_schedule(text, dataset_info);
  TerminalPlotOptions size = fitted_to_terminal();
  size.height = kScheduleHeight;
  print(json ? json_text(schedule_json(schedule), 2) + '\n' : schedule_text(schedule, size));
}

// exprun show RECIPE|RUN [--origin] [--diff OTHER] [--schedule] [--json]

Shown shown_of(const std::string& what, const Words& overrides, const Globals& globals) {
  if (names_recipe_file(what)) {
    std::string title = what;
    for (const std::string& change : overrides) title += ' ' + change;
    RecipeText text = read_recipe(what, overrides);
    if (!has_sweep(text)) return {std::move(text), std::move(title), {}, {}};
    SweepPlan plan = plan_sweep(text.without_overrides(), overrides);
    return {plan.trials.front().text, std::move(title), {}, std::move(plan)};
  }
  const auto [store, run] = run_called(what, globals);
  return {newest_recipe(store, run, globals.store),
          run.folder,
          dataset_info_of(globals.store, run),
          {}};
}

ResolvedRecipe resolved_of(const std::string& what, const Shown& shown) {
  return names_recipe_file(what) ? resolve(shown.text)
                                 : resolve_stored(shown.text, "show", what, shown.dataset_info);
}

struct ShowWords {
  std::string what;
  Words overrides;
  std::string other;  // to compare with
  bool origin = false;
  bool schedule = false;
  ShowRunOptions run;  // its `json` is of every view
};

// Each shows something else.
void require_one_view(const ShowWords& asked) {
  if (asked.origin + !asked.other.empty() + asked.schedule + asked.run.attempts + asked.run.diff >
      1)
    throw Error("show: give only one of --origin, --diff, --schedule, --attempts and --git-diff",
                ExitCode::bad_recipe);
}

void require_fitting(const ShowWords& asked) {
  require_overrides(asked.overrides, "show");
  require_one_view(asked);
  const bool of_run = !names_recipe_file(asked.what);
  if (of_run && !asked.overrides.empty())
    throw Error("show: key=value overrides are for a recipe; a run cannot be changed",
                ExitCode::bad_recipe);
  if (!of_run && (asked.run.attempts || asked.run.diff))
    throw Error("show: --attempts and --git-diff need a run, not a recipe", ExitCode::bad_recipe);
}

void show(const ShowWords& asked, const Globals& globals) {
  const auto& [what, overrides, other, origin, schedule, run] = asked;
  const bool as_recorded = !origin && other.empty() && !schedule;
  if (!names_recipe_file(what) && as_recorded) return show_run(what, run, globals);
  const Shown shown = shown_of(what, overrides, globals);
  const ResolvedRecipe recipe = resolved_of(what, shown);
  if (shown.sweep && !as_recorded) log_info("a sweep of " + counted_trials(*shown.sweep));
  if (schedule) return show_schedule(what, shown.text, run.json, globals);
  if (!other.empty()) {
    const Shown compared = shown_of(other, {}, globals);
    return print_difference(recipe, resolved_of(other, compared), shown.title, compared.title,
                            run.json);
  }
  print(run.json ? recipe_json(recipe, shown, origin)
        : origin ? recipe_with_origins(recipe, shown)
                 : (shown.sweep ? sweep_as_comments(*shown.sweep) : "") +
                       editable_toml(recipe.to_toml(), derived_values(recipe)));
}

}  // namespace

int run_show(const Words& words, const Globals& globals) {
  ShowWords asked;
  Arguments arguments(
      "show RECIPE|RUN [key=value...]",
      "Prints a recipe with every default and override filled in, as TOML. For a run, first prints "
      "what is known about it, as comments: state, code, machine, libraries. For a recipe with "
      "[sweep], prints its first trial, preceded by comments with the number of trials and the "
      "axes. What follows from other keys is \"auto\", with its value as a comment. The output is "
      "a "
      "recipe with the same hash.");
  arguments
      .word("RECIPE|RUN", asked.what, std::string("a TOML file, or a run: ") + kRunHelp,
            offer::recipes_and_runs)
      .words("key=value...", asked.overrides, "overrides of the recipe's keys", offer::changes)
      .flag("--origin", asked.origin,
            "show where each value comes from: file:line, override, derived, default")
      .option("--diff", "OTHER", asked.other,
              "print only the keys that differ from another recipe or run", offer::recipes_and_runs)
      .flag("--schedule", asked.schedule,
            "print and plot the learning rate of every group over the run")
      .flag("--json", asked.run.json,
            "print JSON: the hash and the recipe; for a run, also what is known about it; for a "
            "sweep, also the number of trials and the axes; with --origin, also where each value "
            "comes from; works with --diff and --schedule too")
      .flag("--attempts", asked.run.attempts, "list a run's attempts")
      .flag("--git-diff", asked.run.diff, "print how a run's code differed from its git commit")
      .exit_codes(kReadsRuns)
      .example("exprun show recipes/quickstart.toml --origin",
               "every value and where it comes from")
      .example("exprun show recipes/quickstart.toml lr=3e-4 --diff recipes/quickstart.toml",
               "what the override affects")
      .example("exprun show @last > again.toml", "the recipe of the newest run, as a file");
  if (!arguments.parse(words)) return 0;
  require_fitting(asked);
  show(asked, globals);
  return 0;
}

}  // namespace exprun
