// exprun show RECIPE|RUN [--origin] [--schedule]
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "control/command/arguments.h"
#include "control/command/recipe_words.h"
#include "control/command/stored_runs.h"
#include "control/launch/trainer_program.h"
#include "control/report/schedule_plot.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

struct Shown {
  RecipeText text;
  std::string toml;  // as it was resolved then; empty for a recipe
};

// A folder is a run's, as `exprun ls` shows it or as it lies on disk.
bool means_recipe(const std::string& what) {
  std::error_code ignored;
  return what.ends_with(".toml") || std::filesystem::is_regular_file(what, ignored);
}

Shown shown(const std::string& what, const Words& overrides, const Globals& globals) {
  if (means_recipe(what)) return {read_recipe(what, overrides), ""};
  if (!overrides.empty())
    throw Error("show: a run is shown as it is; changes are for a recipe", ExitCode::bad_recipe);
  const Store store = open_store(globals.store);
  const RunRow run = find_run(store, globals.store, what);
  return {RecipeText::from_json(store.recipe_json(run.id)), store.resolved_toml(run.id)};
}

std::string place(const Value& value) {
  switch (value.origin) {
    case Origin::file:
      return value.where ? value.where.file->name + ':' + std::to_string(value.where.line) : "file";
    case Origin::command_line:
      return "override";
    case Origin::derived:
      return "derived";
    case Origin::default_value:
      return "default";
  }
  return "";
}

std::string with_origins(const ResolvedRecipe& resolved) {
  ResultTable table{{{"key", "key"}, {"value", "value"}, {"origin", "origin"}}, {}};
  for (const auto& [path, value] : resolved.leaves(false)) {
    const Value* const found = resolved.find(path);
    table.rows.push_back(
        {Cell::word(path), Cell::word(value), Cell::word(found ? place(*found) : "")});
  }
  return to_plain(table, {});
}

}  // namespace

int run_show(const Words& words, const Globals& globals) {
  std::string what;
  Words overrides;
  bool origin = false, schedule = false;
  Arguments arguments("show RECIPE|RUN [key=value...]",
                      "Prints a recipe with every default and override filled in, as TOML.");
  arguments.word("RECIPE|RUN", what, "a TOML file, or a run: its folder, id, uid, name, @last")
      .words("key=value...", overrides, "changes of the recipe")
      .flag("--origin", origin,
            "where each value comes from: file:line, override, derived, default")
      .flag("--schedule", schedule, "the learning rate of every group over the run, and a plot")
      .example("exprun show recipes/quickstart.toml --origin", "every value and its origin")
      .example("exprun show @last > again.toml", "the newest run as a recipe of its own");
  if (!arguments.parse(words)) return 0;
  require_overrides(overrides, "show");
  const Shown found = shown(what, overrides, globals);
  if (schedule) {
    resolve(found.text);  // its mistakes are told from here
    const auto described = describe_schedule(found.text);
    if (!described) return static_cast<int>(ExitCode::bad_recipe);
    print(schedule_text(*described));
    return 0;
  }
  if (!origin && !found.toml.empty()) {
    print(found.toml);
    return 0;
  }
  const ResolvedRecipe resolved = resolve(found.text);
  print(origin ? with_origins(resolved) : resolved.to_toml());
  return 0;
}

}  // namespace exprun
