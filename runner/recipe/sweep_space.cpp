#include "recipe/sweep_space.h"

#include <algorithm>

#include "recipe/complete.h"
#include "recipe/emit.h"
#include "recipe/extended.h"
#include "recipe/key_lookup.h"
#include "recipe/key_path.h"
#include "recipe/overrides.h"
#include "recipe/quantities.h"
#include "recipe/sweep_values.h"
#include "recipe/unknown_key.h"
#include "recipe/validate.h"

namespace exprun {
namespace {

SweepAxis parse_axis(const std::string& argument, size_t number,
                     const std::vector<SweepAxis>& before) {
  const auto file = override_file(number, argument);
  if (argument.starts_with("~")) return {argument, {}};
  const size_t equals = argument.find('=');
  const SourceSpan key = span_of(file, 0, std::min(equals, argument.size()));
  if (equals == 0 || equals == std::string::npos)
    throw RecipeError(key, "this is no axis", "write key=a,b,c");
  SweepAxis axis{argument.substr(0, equals), {}};
  for (const SweepAxis& other : before)
    if (other.key == axis.key) throw RecipeError(key, "'" + axis.key + "' is given twice");
  const SourceSpan values = span_of(file, equals + 1, argument.size() - equals - 1);
  axis.values = parse_sweep_values(argument.substr(equals + 1), values);
  return axis;
}

SweepAxis axis_of_entry(const Entry& entry) {
  SweepAxis axis{entry.key, {}};
  if (const auto* text = entry.value.as<std::string>())
    axis.values = parse_sweep_values(*text, entry.value.where);
  else
    for (const Value& value : *entry.value.as<Array>()) axis.values.push_back(toml_text(value));
  if (axis.values.empty())
    throw RecipeError(entry.value.where, "'" + entry.key + "' has no values");
  return axis;
}

void check_axis(const SchemaSet& schemas, const Table& root, const Entry& axis,
                Diagnostics& diagnostics) {
  const std::vector<std::string> matches = matching_paths(schemas, root, axis.key);
  if (matches.size() > 1)
    diagnostics.push_back(
        {axis.where, "'" + axis.key + "' names several keys", "write " + alternatives(matches)});
  if (matches.empty())
    diagnostics.push_back(
        {axis.where, "unknown key '" + axis.key + "'", suggest_path(schemas, root, axis.key)});
}

}  // namespace

std::vector<SweepAxis> parse_axes(const std::vector<std::string>& arguments) {
  std::vector<SweepAxis> axes;
  for (size_t i = 0; i < arguments.size(); ++i)
    axes.push_back(parse_axis(arguments[i], i + 1, axes));
  return axes;
}

std::vector<std::vector<std::string>> expand_grid(const std::vector<SweepAxis>& axes) {
  std::vector<std::vector<std::string>> points(1);
  for (const SweepAxis& axis : axes) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& point : points) {
      std::vector<std::string> texts;
      if (axis.key.starts_with("~")) texts.push_back(axis.key);
      for (const std::string& value : axis.values) texts.push_back(axis.key + "=" + value);
      for (std::string& text : texts) {
        longer.push_back(point);
        longer.back().push_back(std::move(text));
      }
    }
    points = std::move(longer);
  }
  return points;
}

std::optional<Sweep> read_sweep(const RecipeText& text, const SchemaSet& schemas) {
  Diagnostics diagnostics;
  Extended extended = extend_files(text, schemas, diagnostics);
  apply_overrides(schemas, extended.root, text, diagnostics);
  if (extended.root.find("sweep") == nullptr) return std::nullopt;
  diagnostics.clear();  // the rest of the recipe is judged with every trial
  validate_table(schemas, extended.root, "sweep", diagnostics);
  complete(schemas, extended.root, {}, text.files.front()->name);
  const Value* axes = find_path(extended.root, "sweep.axes");
  if (axes != nullptr && axes->as<Table>() != nullptr)
    for (const Entry& axis : axes->as<Table>()->entries())
      check_axis(schemas, extended.root, axis, diagnostics);
  add_chains(text, extended, diagnostics);
  if (has_errors(diagnostics)) throw RecipeError(diagnostics);
  Sweep sweep;
  for (const Entry& axis : axes->as<Table>()->entries()) sweep.axes.push_back(axis_of_entry(axis));
  sweep.method = text_at(extended.root, "sweep.method").value_or("");
  sweep.metric = text_at(extended.root, "sweep.metric").value_or("");
  sweep.goal = text_at(extended.root, "sweep.goal").value_or("");
  return sweep;
}

}  // namespace exprun
