#include "recipe/sweep/sweep_space.h"

#include <algorithm>

#include "base/number.h"
#include "recipe/complete.h"
#include "recipe/emit.h"
#include "recipe/extended.h"
#include "recipe/key_lookup.h"
#include "recipe/key_path.h"
#include "recipe/overrides.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"
#include "recipe/series.h"
#include "recipe/sweep/sweep_values.h"
#include "recipe/validate/validate.h"

namespace exprun {
namespace {

constexpr int64_t kMostPoints = 100'000;  // each is a whole recipe in memory; more is surely a slip

SweepAxis parse_axis(const std::string& argument, size_t number) {
  const auto file = override_file(number, argument);
  if (argument.starts_with("~")) return {argument, span_of(file, 0, argument.size()), {}};
  const size_t equals = argument.find('=');
  const SourceSpan key = span_of(file, 0, std::min(equals, argument.size()));
  if (equals == 0 || equals == std::string::npos)
    throw RecipeError(key, "this is no axis", "write key=a,b,c");
  SweepAxis axis{argument.substr(0, equals), key, {}};
  const size_t values = equals + 1;
  axis.values = parse_sweep_values(argument.substr(values), [&](size_t begin, size_t size) {
    return span_of(file, values + begin, size);
  });
  return axis;
}

SweepAxis axis_of_entry(const Entry& entry) {
  SweepAxis axis{entry.key, entry.where, {}};
  if (const auto* text = entry.value.as<std::string>())
    axis.values = parse_sweep_values(*text, [&](size_t, size_t) { return entry.value.where; });
  else
    for (const Value& value : *entry.value.as<Array>())
      axis.values.push_back({toml_text(value), value.where});
  if (axis.values.empty())
    throw RecipeError(entry.value.where, "'" + entry.key + "' has no values",
                      "write some, or take the key away");
  return axis;
}

// Trials may differ in what they measure; then the metric is not judged.
bool changes_evaluations(const SchemaSet& schemas, const Table& root) {
  const Value* axes = sound_at(root, "sweep.axes");
  if (axes == nullptr || axes->as<Table>() == nullptr) return true;
  for (const Entry& axis : axes->as<Table>()->entries())
    for (const std::string& path : matching_paths(schemas, root, axis.key))
      if (path.starts_with("evaluation") || path.starts_with("dataset") ||
          path.starts_with("metrics"))
        return true;
  return false;
}

void check_metric(const SchemaSet& schemas, const Table& root, Diagnostics& diagnostics) {
  const auto metric = text_at(root, "sweep.metric");
  const Measured measured = measured_series(schemas, root);
  if (!metric || measured.is_uncertain || measured.has(*metric)) return;
  if (is_recorded_always(schemas, *metric)) return;
  diagnostics.push_back({place_of(root, "sweep.metric"), "no trial records '" + *metric + "'",
                         help_for_series(*metric, measured.names())});
}

// What is wrong in the rest of the recipe is said with every trial.
Extended changed_files(const RecipeText& text, const SchemaSet& schemas) {
  Diagnostics ignored;
  Extended extended = extend_files(text, schemas);
  apply_overrides(schemas, extended.root, text, ignored);
  return extended;
}

// Before there are so many: their number is the product of all axes.
void require_countable(const std::vector<SweepAxis>& axes) {
  int64_t points = 1;
  for (const SweepAxis& axis : axes) {
    points *= std::max<int64_t>(static_cast<int64_t>(axis.values.size()), 1);
    if (points > kMostPoints)
      throw RecipeError(
          axis.where,
          "the axes up to '" + axis.key + "' make " + with_thousands(points) + " trials",
          "a sweep has at most " + with_thousands(kMostPoints));
  }
}

}  // namespace

std::vector<SweepAxis> parse_axes(const std::vector<std::string>& arguments) {
  std::vector<SweepAxis> axes;
  for (size_t i = 0; i < arguments.size(); ++i) axes.push_back(parse_axis(arguments[i], i + 1));
  return axes;
}

std::vector<SweepPoint> expand_grid(const std::vector<SweepAxis>& axes) {
  require_countable(axes);
  std::vector<SweepPoint> points(1);
  for (const SweepAxis& axis : axes) {
    SweepPoint changes;
    if (axis.key.starts_with("~")) changes.push_back({axis.key, axis.where, axis.where});
    for (const SweepValue& value : axis.values)
      changes.push_back({axis.key + "=" + value.text, axis.where, value.where});
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points)
      for (const SweepChange& change : changes) {
        longer.push_back(point);
        longer.back().push_back(change);
      }
    points = std::move(longer);
  }
  return points;
}

bool has_sweep(const RecipeText& text, const SchemaSet& schemas) {
  return changed_files(text, schemas).root.find("sweep") != nullptr;
}

std::optional<Sweep> read_sweep(const RecipeText& text, const SchemaSet& schemas) {
  Extended extended = changed_files(text, schemas);
  if (extended.root.find("sweep") == nullptr) return std::nullopt;
  Diagnostics diagnostics;
  validate(schemas, extended.root, diagnostics);
  // The rest of the recipe is judged with every trial, and so are the keys of the axes.
  diagnostics.clear();
  validate_table(schemas, extended.root, "sweep", diagnostics);
  const bool same_series = !changes_evaluations(schemas, extended.root);
  complete(schemas, extended.root, {}, text.files.front()->name);
  if (same_series) check_metric(schemas, extended.root, diagnostics);
  add_chains(text, extended, diagnostics);
  if (has_errors(diagnostics)) throw RecipeError(diagnostics);
  Sweep sweep;
  for (const Entry& axis : find_path(extended.root, "sweep.axes")->as<Table>()->entries())
    sweep.axes.push_back(axis_of_entry(axis));
  sweep.method = text_at(extended.root, "sweep.method").value_or("");
  sweep.metric = text_at(extended.root, "sweep.metric").value_or("");
  sweep.goal = text_at(extended.root, "sweep.goal").value_or("");
  return sweep;
}

}  // namespace exprun
