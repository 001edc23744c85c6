// exprun show RECIPE|RUN [--origin] [--diff OTHER] [--schedule] [--json]
#include "base/diagnostic.h"
#include "control/command/arguments.h"
#include "control/command/offered_changes.h"
#include "control/command/recipe_words.h"
#include "control/command/show_recipe.h"
#include "control/command/show_run.h"
#include "control/command/show_schedule.h"
#include "control/command/stored_runs.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

struct Shown {
  RecipeText text;
  std::string title;  // "quickstart.toml lr=3e-4", or the run's folder
};

Shown shown_of(const std::string& what, const Words& overrides, const Globals& globals) {
  if (names_recipe_file(what)) {
    std::string title = what;
    for (const std::string& change : overrides) title += ' ' + change;
    return {read_recipe(what, overrides), title};
  }
  const Store store = open_store(globals.store);
  const RunRow run = find_run(store, globals.store, what);
  return {stored_recipe(store, run), run.folder};
}

ResolvedRecipe resolved_of(const std::string& what, const RecipeText& text) {
  return names_recipe_file(what) ? resolve(text) : resolve_stored(text, "show", what);
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
    throw Error("show: give one of --origin, --diff, --schedule, --attempts and --git-diff",
                ExitCode::bad_recipe);
}

void require_fitting(const ShowWords& asked) {
  require_overrides(asked.overrides, "show");
  require_one_view(asked);
  const bool of_run = !names_recipe_file(asked.what);
  if (of_run && !asked.overrides.empty())
    throw Error("show: a run is shown as it is; changes are for a recipe", ExitCode::bad_recipe);
  if (!of_run && (asked.run.attempts || asked.run.diff))
    throw Error("show: --attempts and --git-diff are for a run", ExitCode::bad_recipe);
}

void show(const ShowWords& asked, const Globals& globals) {
  const auto& [what, overrides, other, origin, schedule, run] = asked;
  const bool as_recorded = !origin && other.empty() && !schedule;
  if (!names_recipe_file(what) && as_recorded) return show_run(what, run, globals);
  const auto [text, title] = shown_of(what, overrides, globals);
  const ResolvedRecipe recipe = resolved_of(what, text);
  if (schedule) return show_schedule(what, text, run.json, globals);
  if (!other.empty()) {
    const Shown compared = shown_of(other, {}, globals);
    return print_difference(recipe, resolved_of(other, compared.text), title, compared.title,
                            run.json);
  }
  print(run.json ? recipe_json(recipe, origin)
        : origin ? recipe_with_origins(recipe)
                 : recipe.to_toml());
}

}  // namespace

int run_show(const Words& words, const Globals& globals) {
  ShowWords asked;
  Arguments arguments(
      "show RECIPE|RUN [key=value...]",
      "Prints a recipe with every default and override filled in, as TOML; above that "
      "of a run, what is known of it: state, code, machine, libraries. Read back, it "
      "is the same recipe with the same hash.");
  arguments
      .word("RECIPE|RUN", asked.what, "a TOML file, or a run: its folder, id, uid, name, @last",
            offer::recipes_and_runs)
      .words("key=value...", asked.overrides, "changes of the recipe", offer::changes)
      .flag("--origin", asked.origin,
            "where each value comes from: file:line, override, derived, default")
      .option("--diff", "OTHER", asked.other,
              "only the keys in which another recipe or run is a different experiment",
              offer::recipes_and_runs)
      .flag("--schedule", asked.schedule,
            "the learning rate of every group over the run, and a plot")
      .flag("--json", asked.run.json,
            "as JSON: hash and recipe, and all that is known of a run; with --origin, each key's "
            "place; --diff and --schedule too")
      .flag("--attempts", asked.run.attempts, "of a run: its lives")
      .flag("--git-diff", asked.run.diff, "of a run: what its code differed in from its git commit")
      .exit_codes(kReadsRuns)
      .example("exprun show recipes/quickstart.toml --origin", "every value and its origin")
      .example("exprun show recipes/quickstart.toml lr=3e-4 --diff recipes/quickstart.toml",
               "what the change makes different")
      .example("exprun show @last > again.toml", "the newest run as a recipe of its own");
  if (!arguments.parse(words)) return 0;
  require_fitting(asked);
  show(asked, globals);
  return 0;
}

}  // namespace exprun
