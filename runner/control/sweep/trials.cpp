#include "control/sweep/trials.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/json_text.h"
#include "base/strings.h"
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
std::vector<std::string> changes_of(const SweepPoint& point, const std::vector<SweepAxis>& axes) {
  std::vector<std::string> changes;
  for (const SweepChange& change : point)
    for (const SweepAxis& axis : axes)
      if (varies(axis) && change.override.starts_with(axis.key + '='))
        changes.push_back(change.override);
  return changes;
}

std::vector<std::string> differing_keys(const ResolvedRecipe& a, const ResolvedRecipe& b) {
  const auto leaves = a.leaves(false);
  const std::set<std::pair<std::string, std::string>> all(leaves.begin(), leaves.end());
  std::vector<std::string> keys;
  for (const auto& leaf : b.leaves(false))
    if (!all.contains(leaf)) keys.push_back(leaf.first);
  return keys;
}

// Without the sign before it and the value.
std::string key_of(const std::string& override_) {
  const size_t sign = override_.find_first_not_of("~+");
  return sign == std::string::npos ? "" : override_.substr(sign, override_.find('=') - sign);
}

// Where two points come to the same run with different values of what makes no other run: which
// axes ask for that.
Diagnostics one_run_of(const SweepPoint& point, const std::vector<std::string>& keys) {
  Diagnostics diagnostics;
  for (const SweepChange& change : point) {
    const std::string key = key_of(change.override);
    const std::string value = change.override.substr(change.override.find('=') + 1);
    if (std::any_of(keys.begin(), keys.end(), [&](auto& one) { return may_be_same(one, key); }))
      diagnostics.push_back(
          {change.key, "'" + key + "' cannot be swept: all its values give the same trial",
           "start a run for each value: exprun RECIPE --new " + shell_quoted(key + "=" + value)});
  }
  return diagnostics;
}

Diagnostic same_key(const SweepChange& change, const SweepChange& before) {
  const std::string key = key_of(change.override);
  const std::string known = key_of(before.override);
  return {change.key, "'" + key + "' is given twice",
          key == known ? "give all its values together: " + key + "=a,b"
                       : "'" + known + "' is the same key; give all its values there"};
}

// Of axes for one key only the last would count. `whole` has the overrides of the point with the
// paths that their keys mean, behind others.
Diagnostics given_twice(const SweepPoint& point, const std::vector<std::string>& whole) {
  const size_t first = whole.size() - point.size();
  Diagnostics diagnostics;
  std::map<std::string, const SweepChange*> known;
  for (size_t i = 0; i < point.size(); ++i) {
    const auto [before, is_new] = known.try_emplace(key_of(whole[first + i]), &point[i]);
    if (!is_new) diagnostics.push_back(same_key(point[i], *before->second));
  }
  return diagnostics;
}

// Diagnostics point at the overrides that were made of a point, from number `first` on: what the
// user wrote is an axis and one of its values.
Diagnostics at_axes(Diagnostics diagnostics, const SweepPoint& point, size_t first) {
  for (Diagnostic& diagnostic : diagnostics)
    for (size_t i = 0; diagnostic.where && i < point.size(); ++i) {
      const SweepChange& change = point[i];
      if (diagnostic.where.file->name != override_file(first + i, "")->name) continue;
      const bool at_value = diagnostic.where.column > change.override.find('=') + 1;
      diagnostic.where = at_value ? change.value : change.key;
      break;
    }
  return diagnostics;
}

// Two are the same that say the same of the same place.
using Said = std::tuple<std::string, uint32_t, uint32_t, std::string>;

Said said(const Diagnostic& diagnostic) {
  const SourceSpan& where = diagnostic.where;
  return {where ? where.file->name : "", where.line, where.column, diagnostic.message};
}

class Survey {
 public:
  Survey(const RecipeText& recipe, const std::vector<std::string>& arguments,
         const GlanceAtData& glance)
      : recipe_(recipe), glance_(glance) {
    const bool in_recipe = has_sweep(recipe);
    if (in_recipe) recipe_.overrides.push_back("~sweep");
    try {
      const auto sweep = in_recipe ? read_sweep(recipe) : std::nullopt;
      axes_ = all_axes(sweep, parse_axes(arguments));
      if (sweep) {
        found_.plan.method = sweep->method;
        found_.plan.metric = sweep->metric;
        found_.plan.maximize = sweep->goal == "maximize";
      }
    } catch (const RecipeError& error) {  // no point can be made: what is wrong beside it?
      add(error.diagnostics());
      add(try_resolve(recipe_).diagnostics);
      return;
    }
    if (!in_recipe && std::none_of(axes_.begin(), axes_.end(), varies))
      throw Error("sweep: nothing to sweep; give a key several values: lr=1e-4,3e-4",
                  ExitCode::bad_recipe);
    Resolver resolver(recipe_);
    for (const SweepPoint& point : expand_grid(axes_)) resolve_point(resolver, point);
  }

  SweepSurvey found() && {
    found_.diagnostics = first_of(std::move(found_.diagnostics));
    return std::move(found_);
  }

 private:
  void add(const Diagnostics& more) {
    for (const Diagnostic& next : more)
      if (said_.insert(said(next)).second) found_.diagnostics.push_back(next);
  }

  void resolve_point(Resolver& resolver, const SweepPoint& point) {
    RecipeText text = recipe_;
    for (const SweepChange& change : point) text.overrides.push_back(change.override);
    const auto say = [&](Diagnostics diagnostics) {
      add(at_axes(std::move(diagnostics), point, recipe_.overrides.size() + 1));
    };
    Resolution resolution = resolver(text.overrides);
    if (glance_) {
      DataGlance data = glance_(resolution);
      if (!has_errors(resolution.diagnostics))
        resolution = resolver(text.overrides, data.dataset_info);
      say(std::move(data.problems));
    }
    say(resolution.diagnostics);
    const Diagnostics twice = given_twice(point, resolution.recipe.overrides());
    add(twice);
    if (has_errors(resolution.diagnostics) || has_errors(twice)) return;
    ResolvedRecipe resolved =
        std::move(resolution.recipe).with_warnings(std::move(resolution.diagnostics));
    const auto [same, is_new] = trials_.try_emplace(resolved.hash(), found_.plan.trials.size());
    if (!is_new) {
      const ResolvedRecipe& first = found_.plan.trials[same->second].resolved;
      add(one_run_of(point, differing_keys(first, resolved)));
      return;
    }
    const auto number = static_cast<int64_t>(found_.plan.trials.size()) + 1;
    found_.plan.trials.push_back(
        {number, changes_of(point, axes_), std::move(text), std::move(resolved)});
  }

  RecipeText recipe_;  // without its [sweep]
  const GlanceAtData& glance_;
  std::vector<SweepAxis> axes_;
  std::map<std::string, size_t> trials_;  // which has the hash
  std::set<Said> said_;
  SweepSurvey found_;
};

}  // namespace

SweepSurvey survey_sweep(const RecipeText& recipe, const std::vector<std::string>& arguments,
                         const GlanceAtData& glance) {
  return Survey(recipe, arguments, glance).found();
}

SweepPlan plan_sweep(const RecipeText& recipe, const std::vector<std::string>& arguments) {
  SweepSurvey survey = survey_sweep(recipe, arguments);
  if (has_errors(survey.diagnostics)) throw RecipeError(std::move(survey.diagnostics));
  return std::move(survey.plan);
}

Objective objective_of(const SweepPlan& plan) {
  return {plan.maximize, plan.summary.value_or(plan.maximize ? Summary::max : Summary::min)};
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
                                  {"summary", to_string(objective_of(plan).summary)},
                                  {"trials", nlohmann::ordered_json::array()}};
  for (const Trial& trial : plan.trials) space["trials"].push_back(trial.resolved.hash());
  return json_text(space);
}

}  // namespace exprun
