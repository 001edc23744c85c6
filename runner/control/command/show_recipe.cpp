#include "control/command/show_recipe.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/json_text.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/terminal/terminal.h"
#include "base/utf8.h"
#include "control/command/command.h"
#include "control/report/runs_table.h"
#include "control/report/standard_output.h"
#include "control/report/table.h"
#include "control/sweep/axis_mistakes.h"
#include "recipe/key_path.h"
#include "recipe/toml/write.h"
#include "recipe/value.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

// A value of a sweep's axis is written where the axis is: the trial has it as an override.
Value shown_value(const ResolvedRecipe& recipe, const std::string& path, const Shown& shown) {
  Value value = *recipe.find(path);
  if (!shown.sweep || value.origin != Origin::command_line) return value;
  const Trial& trial = shown.sweep->trials.front();
  value.where = at_axes({{value.where, "", ""}}, trial.point, trial.text).front().where;
  if (value.where.file->kind != SourceFile::Kind::typed_override) value.origin = Origin::file;
  return value;
}

ordered_json origins_of(const ResolvedRecipe& recipe, const Shown& shown) {
  ordered_json list = ordered_json::array();
  for (const auto& [path, text] : recipe.leaves(false)) {
    const Value value = shown_value(recipe, path, shown);
    ordered_json item = {
        {"key", path}, {"value", to_json(value)}, {"origin", to_string(value.origin)}};
    if (value.where) item["file"] = value.where.file->name;
    if (value.where) item["line"] = value.where.line;
    list.push_back(std::move(item));
  }
  return list;
}

ResultTable difference_table(const ResolvedRecipe& a, const ResolvedRecipe& b,
                             const std::string& name_a, const std::string& name_b) {
  ResultTable table{{{"key", "key"}, {"this", name_a}, {"other", name_b}}, {}};
  for (const Difference& difference : differences(a, b))
    table.rows.push_back(
        {Cell::word(difference.path), Cell::word(difference.a), Cell::word(difference.b)});
  return table;
}

// Beside each other in so many columns of a terminal: the longest keys move their values to the
// right, and long values are cut.
void fit_values(ResultTable& table, size_t room) {
  constexpr size_t kUsualValue = 16, kNarrowestValue = 8, kGap = 2;
  size_t keys = display_width(table.columns[0].title);
  for (const auto& row : table.rows) keys = std::max(keys, display_width(row[0].text));
  keys = std::min(keys, std::max(room, kUsualValue + kGap) - kUsualValue - kGap);
  const auto joined = [&](const std::string& key, const std::string& value) {
    const size_t before = std::max(display_width(key), keys) + kGap;
    const size_t rest = std::max(room, before + kNarrowestValue) - before;
    return key + std::string(before - display_width(key), ' ') + shortened(value, rest);
  };
  for (auto& row : table.rows) {
    row[0] = Cell::word(joined(row[0].text, row[1].text));
    row.erase(row.begin() + 1);
  }
  table.columns[0].title = joined(table.columns[0].title, table.columns[1].title);
  table.columns.erase(table.columns.begin() + 1);
}

// A key that a sweep changes, by its whole path, and the values that its trials have, each once.
struct SweptKey {
  std::string path;
  std::vector<const Value*> values;
};

std::vector<SweptKey> swept_keys(const SweepPlan& plan) {
  std::set<std::string> paths;
  std::vector<SweptKey> keys;
  for (const Trial& trial : plan.trials) {
    const std::vector<std::string>& overrides = trial.resolved.overrides();
    const size_t first = overrides.size() - trial.point.size();
    for (size_t i = 0; i < trial.point.size(); ++i)
      if (const std::string path = key_of(overrides[first + i]);
          trial.point[i].is_axis && paths.insert(path).second)
        keys.push_back({path, {}});
  }
  for (auto& [path, values] : keys) {
    std::set<std::string> known;
    for (const Trial& trial : plan.trials)
      if (const Value* const value = trial.resolved.find(path);
          value && known.insert(toml_text(*value)).second)
        values.push_back(value);
  }
  return keys;
}

// The keys that differ, in what was written, though the experiment is the same: of names, tags,
// logs and checkpoints.
Words other_differences(const ResolvedRecipe& a, const ResolvedRecipe& b) {
  std::set<std::string> paths;
  for (const ResolvedRecipe* const recipe : {&a, &b})
    for (const auto& [path, text] : recipe->leaves(false)) {
      const Origin origin = recipe->find(path)->origin;
      const Value* const other = (recipe == &a ? b : a).find(path);
      const bool is_written = origin != Origin::default_value && origin != Origin::derived;
      if (is_written && !(other && toml_text(*other) == text)) paths.insert(path);
    }
  for (const Difference& difference : differences(a, b)) paths.erase(difference.path);
  return {paths.begin(), paths.end()};
}

}  // namespace

std::string counted_trials(const SweepPlan& plan) {
  const auto trials = static_cast<int64_t>(plan.trials.size());
  return pluralize(trials, "trial") + (trials > 1 ? ", the first of which is shown" : "");
}

std::string sweep_as_comments(const SweepPlan& plan) {
  std::string lines;
  for (const auto& [path, values] : swept_keys(plan)) {
    std::string list;
    for (const Value* const value : values) list += (list.empty() ? "" : ", ") + toml_text(*value);
    lines += path + ": " + list + '\n';
  }
  return comment_line("sweep", counted_trials(plan)) + comment_line("axes", lines) + '\n';
}

std::string recipe_with_origins(const ResolvedRecipe& recipe, const Shown& shown) {
  constexpr size_t kGap = 2;
  ResultTable table{{{"key", "key"}, {"value", "value"}, {"origin", "origin"}}, {}};
  size_t places = 0;
  for (const auto& [path, value] : recipe.leaves(false)) {
    const std::string place = place_of(shown_value(recipe, path, shown));
    table.rows.push_back({Cell::word(path), Cell::word(value), Cell::word(place)});
    places = std::max(places, display_width(place));
  }
  if (const size_t width = terminal_width(); width > places + kGap)
    fit_values(table, width - places - kGap);
  return to_plain(table, {});
}

std::string recipe_json(const ResolvedRecipe& recipe, const Shown& shown, bool origins) {
  ordered_json json = {{"hash", recipe.hash()}};
  if (shown.sweep) {
    json["trials"] = shown.sweep->trials.size();
    json["axes"] = ordered_json::object();
    for (const auto& [path, values] : swept_keys(*shown.sweep))
      for (const Value* const value : values) json["axes"][path].push_back(to_json(*value));
  }
  json["recipe"] = to_json(recipe.written());
  if (origins) json["origins"] = origins_of(recipe, shown);
  return json_text(json, 2) + '\n';
}

void print_difference(const ResolvedRecipe& a, const ResolvedRecipe& b, const std::string& name_a,
                      const std::string& name_b, bool json) {
  const ResultTable table = difference_table(a, b, name_a, name_b);
  if (json) return print(to_json(table));
  if (table.rows.empty()) log_info("no difference: the recipes mean the same");
  if (!table.rows.empty()) print(to_plain(table, {}));
  std::fflush(stdout);
  if (const Words others = other_differences(a, b); !others.empty())
    log_info("different too, without an effect on results: " + listed(others));
}

}  // namespace exprun
