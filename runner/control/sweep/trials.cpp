#include "control/sweep/trials.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "recipe/sweep_space.h"

namespace exprun {
namespace {

// "lr" and "optimizer.lr" may be the same key; the recipe's schema knows, a suffix suffices here.
bool may_be_same(const std::string& a, const std::string& b) {
  return a == b || a.ends_with('.' + b) || b.ends_with('.' + a);
}

std::vector<SweepAxis> all_axes(const std::optional<Sweep>& sweep,
                                const std::vector<SweepAxis>& given) {
  std::vector<SweepAxis> axes;
  if (sweep) axes = sweep->axes;
  std::erase_if(axes, [&](const SweepAxis& axis) {
    return std::any_of(given.begin(), given.end(),
                       [&](const SweepAxis& other) { return may_be_same(axis.key, other.key); });
  });
  axes.insert(axes.end(), given.begin(), given.end());
  return axes;
}

bool varies(const SweepAxis& axis) {
  return axis.values.size() > 1;
}

// What is the same in all points names no trial.
std::vector<std::string> changes_of(const std::vector<std::string>& point,
                                    const std::vector<SweepAxis>& axes) {
  std::vector<std::string> changes;
  for (const std::string& override : point)
    for (const SweepAxis& axis : axes)
      if (varies(axis) && override.starts_with(axis.key + '=')) changes.push_back(override);
  return changes;
}

}  // namespace

SweepPlan plan_sweep(const RecipeText& recipe, const std::vector<std::string>& arguments) {
  const auto sweep = read_sweep(recipe);
  const std::vector<SweepAxis> axes = all_axes(sweep, parse_axes(arguments));
  if (!sweep && std::none_of(axes.begin(), axes.end(), varies))
    throw Error("sweep: nothing to sweep; give a key several values: lr=1e-4,3e-4",
                ExitCode::bad_recipe);
  SweepPlan plan;
  if (sweep) plan.method = sweep->method;
  if (sweep) plan.metric = sweep->metric;
  if (sweep) plan.maximize = sweep->goal == "maximize";
  std::set<std::string> hashes;
  for (const std::vector<std::string>& point : expand_grid(axes)) {
    RecipeText text = recipe;
    if (sweep) text.overrides.push_back("~sweep");
    text.overrides.insert(text.overrides.end(), point.begin(), point.end());
    ResolvedRecipe resolved = resolve(text);
    if (!hashes.insert(resolved.hash()).second) continue;
    const auto number = static_cast<int64_t>(plan.trials.size()) + 1;
    plan.trials.push_back({number, changes_of(point, axes), std::move(text), std::move(resolved)});
  }
  return plan;
}

std::string label(const Trial& trial) {
  std::string text;
  for (const std::string& change : trial.changes) text += (text.empty() ? "" : " ") + change;
  return text.empty() ? "as written" : text;
}

std::string space_json(const SweepPlan& plan) {
  nlohmann::ordered_json space = {{"method", plan.method},
                                  {"metric", plan.metric},
                                  {"goal", plan.maximize ? "maximize" : "minimize"},
                                  {"trials", nlohmann::ordered_json::array()}};
  for (const Trial& trial : plan.trials) space["trials"].push_back(trial.resolved.hash());
  return json_text(space);
}

}  // namespace exprun
