#include "control/command/show_schedule.h"

#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/period.h"
#include "base/shell_quoted.h"
#include "control/command/recipe_words.h"
#include "control/command/stored_runs.h"
#include "control/data/prepare.h"
#include "control/launch/trainer_program.h"
#include "control/report/schedule_plot.h"
#include "control/report/terminal.h"
#include "recipe/quantities.h"
#include "recipe/resolved.h"
#include "text/data_facts.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

// Of a run those that it trains on, of a recipe what is known of them so far.
Facts facts_about(const std::string& what, const ResolvedRecipe& recipe, const Globals& globals) {
  if (names_recipe_file(what)) {
    DataGlance glance = glance_at_data(recipe, globals.store.data());
    if (has_errors(glance.problems)) throw RecipeError(std::move(glance.problems));
    return glance.facts;
  }
  const Store store = open_store(globals.store);
  const RunFolder folder = globals.store.run(find_run(store, globals.store, what).folder);
  return facts_of(PreparedData::load(folder.data()));
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

}  // namespace

void show_schedule(const std::string& what, const RecipeText& text, bool json,
                   const Globals& globals) {
  const ResolvedRecipe without_data = resolve(text);
  const Facts facts =
      counts_epochs(without_data) ? facts_about(what, without_data, globals) : Facts{};
  const ResolvedRecipe recipe = resolve(text, facts);
  if (!run_steps(recipe.root(), facts))
    throw RecipeError(recipe.find("run.length")->where,
                      "how many steps this is, is not known before the data are prepared",
                      "a run prepares them, or exprun data prepare " + shell_quoted(what));
  const ordered_json schedule = describe_schedule(text, facts);
  print(json ? json_text(schedule_json(schedule), 2) + '\n' : schedule_text(schedule));
}

}  // namespace exprun
