// exprun show RECIPE|RUN [--origin] [--diff OTHER] [--schedule] [--json]
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/period.h"
#include "control/command/arguments.h"
#include "control/command/recipe_words.h"
#include "control/command/show_run.h"
#include "control/command/stored_runs.h"
#include "control/data/prepare.h"
#include "control/launch/trainer_program.h"
#include "control/report/schedule_plot.h"
#include "control/report/terminal.h"
#include "recipe/quantities.h"
#include "recipe/value_json.h"
#include "text/data_facts.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

// A folder is a run's, as `exprun ls` shows it or as it lies on disk.
bool means_recipe(const std::string& what) {
  std::error_code ignored;
  return what.ends_with(".toml") || std::filesystem::is_regular_file(what, ignored);
}

RecipeText text_of(const std::string& what, const Words& overrides, const Globals& globals) {
  if (means_recipe(what)) return read_recipe(what, overrides);
  const Store store = open_store(globals.store);
  return RecipeText::from_json(store.recipe_json(find_run(store, globals.store, what).id));
}

const char* word(Origin origin) {
  switch (origin) {
    case Origin::file:
      return "file";
    case Origin::command_line:
      return "override";
    case Origin::derived:
      return "derived";
    case Origin::default_value:
      return "default";
  }
  return "";
}

// "recipes/mine.toml:7", "override", "derived", "default".
std::string place(const Value& value) {
  if (value.origin != Origin::file || !value.where) return word(value.origin);
  return value.where.file->name + ':' + std::to_string(value.where.line);
}

std::string with_origins(const ResolvedRecipe& resolved) {
  ResultTable table{{{"key", "key"}, {"value", "value"}, {"origin", "origin"}}, {}};
  for (const auto& [path, value] : resolved.leaves(false))
    table.rows.push_back(
        {Cell::word(path), Cell::word(value), Cell::word(place(*resolved.find(path)))});
  return to_plain(table, {});
}

ordered_json origins(const ResolvedRecipe& resolved) {
  ordered_json list = ordered_json::array();
  for (const auto& [path, text] : resolved.leaves(false)) {
    const Value& value = *resolved.find(path);
    ordered_json item = {{"key", path}, {"value", to_json(value)}, {"origin", word(value.origin)}};
    if (value.where) item["file"] = value.where.file->name;
    if (value.where) item["line"] = value.where.line;
    list.push_back(std::move(item));
  }
  return list;
}

std::string as_json(const ResolvedRecipe& resolved, bool origin) {
  ordered_json json = {{"hash", resolved.hash()}, {"recipe", to_json(resolved.written())}};
  if (origin) json["origins"] = origins(resolved);
  return json_text(json, 2) + '\n';
}

ResultTable difference_table(const ResolvedRecipe& a, const ResolvedRecipe& b,
                             const std::string& name_a, const std::string& name_b) {
  ResultTable table{{{"key", "key"}, {"this", name_a}, {"other", name_b}}, {}};
  for (const Difference& difference : differences(a, b))
    table.rows.push_back(
        {Cell::word(difference.path), Cell::word(difference.a), Cell::word(difference.b)});
  return table;
}

void print_difference(const ResultTable& table, bool json) {
  if (json) return print(to_json(table));
  if (table.rows.empty()) return log_info("no difference: it is the same experiment");
  print(to_plain(table, {}));
}

// Of a run those that it trains on, of a recipe what is known of them so far.
Facts facts_about(const std::string& what, const ResolvedRecipe& recipe, const Globals& globals) {
  if (means_recipe(what)) {
    DataGlance glance = glance_at_data(recipe, globals.store.data());
    if (has_errors(glance.problems)) throw RecipeError(std::move(glance.problems));
    return glance.facts;
  }
  const Store store = open_store(globals.store);
  const RunFolder folder = globals.store.run(find_run(store, globals.store, what).folder);
  return facts_of(PreparedData::from_json(read_file(folder.data())));
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

int show_schedule(const std::string& what, const RecipeText& text, const Globals& globals) {
  const ResolvedRecipe without_data = resolve(text);
  const Facts facts =
      counts_epochs(without_data) ? facts_about(what, without_data, globals) : Facts{};
  const ResolvedRecipe recipe = resolve(text, facts);
  if (!run_steps(recipe.root(), facts))
    throw RecipeError(recipe.find("run.length")->where,
                      "how many steps this is, is not known before the data are prepared",
                      "a run prepares them, or exprun data prepare " + what);
  print(schedule_text(describe_schedule(text, facts)));
  return 0;
}

}  // namespace

int run_show(const Words& words, const Globals& globals) {
  std::string what, other;
  Words overrides;
  bool origin = false, json = false, schedule = false;
  ShowRunOptions options;
  Arguments arguments(
      "show RECIPE|RUN [key=value...]",
      "Prints a recipe with every default and override filled in, as TOML; above that "
      "of a run, what is known of it: state, code, machine, libraries. Read back, it "
      "is the same recipe with the same hash.");
  arguments.word("RECIPE|RUN", what, "a TOML file, or a run: its folder, id, uid, name, @last")
      .words("key=value...", overrides, "changes of the recipe")
      .flag("--origin", origin,
            "where each value comes from: file:line, override, derived, default")
      .option("--diff", "OTHER", other,
              "only the keys in which another recipe or run is a different experiment")
      .flag("--schedule", schedule, "the learning rate of every group over the run, and a plot")
      .flag("--json", json,
            "as JSON: hash and recipe, and all that is known of a run; with --origin, each key's "
            "place")
      .flag("--attempts", options.attempts, "of a run: its lives")
      .flag("--git-diff", options.diff, "of a run: what its code differed in from its git commit")
      .exit_codes({ExitCode::done, ExitCode::bad_recipe, ExitCode::no_such_run})
      .example("exprun show recipes/quickstart.toml --origin", "every value and its origin")
      .example("exprun show recipes/quickstart.toml lr=3e-4 --diff recipes/quickstart.toml",
               "what the change makes different")
      .example("exprun show @last > again.toml", "the newest run as a recipe of its own");
  if (!arguments.parse(words)) return 0;
  require_overrides(overrides, "show");
  const bool of_run = !means_recipe(what);
  if (of_run && !overrides.empty())
    throw Error("show: a run is shown as it is; changes are for a recipe", ExitCode::bad_recipe);
  if (!of_run && (options.attempts || options.diff))
    throw Error("show: --attempts and --git-diff are for a run", ExitCode::bad_recipe);
  if (schedule) return show_schedule(what, text_of(what, overrides, globals), globals);
  if (of_run && !origin && other.empty()) {
    options.json = json;
    show_run(what, options, globals);
    return 0;
  }
  const ResolvedRecipe resolved = resolve(text_of(what, overrides, globals));
  if (!other.empty()) {
    const ResolvedRecipe with = resolve(text_of(other, {}, globals));
    print_difference(difference_table(resolved, with, what, other), json);
    return 0;
  }
  print(json ? as_json(resolved, origin) : origin ? with_origins(resolved) : resolved.to_toml());
  return 0;
}

}  // namespace exprun
