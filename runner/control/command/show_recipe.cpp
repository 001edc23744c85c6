#include "control/command/show_recipe.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/log.h"
#include "control/report/table.h"
#include "control/report/terminal.h"
#include "recipe/value_json.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

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

ordered_json origins_of(const ResolvedRecipe& recipe) {
  ordered_json list = ordered_json::array();
  for (const auto& [path, text] : recipe.leaves(false)) {
    const Value& value = *recipe.find(path);
    ordered_json item = {{"key", path}, {"value", to_json(value)}, {"origin", word(value.origin)}};
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

}  // namespace

std::string recipe_with_origins(const ResolvedRecipe& recipe) {
  ResultTable table{{{"key", "key"}, {"value", "value"}, {"origin", "origin"}}, {}};
  for (const auto& [path, value] : recipe.leaves(false))
    table.rows.push_back(
        {Cell::word(path), Cell::word(value), Cell::word(place(*recipe.find(path)))});
  return to_plain(table, {});
}

std::string recipe_json(const ResolvedRecipe& recipe, bool origins) {
  ordered_json json = {{"hash", recipe.hash()}, {"recipe", to_json(recipe.written())}};
  if (origins) json["origins"] = origins_of(recipe);
  return json_text(json, 2) + '\n';
}

void print_difference(const ResolvedRecipe& a, const ResolvedRecipe& b, const std::string& name_a,
                      const std::string& name_b, bool json) {
  const ResultTable table = difference_table(a, b, name_a, name_b);
  if (json) return print(to_json(table));
  if (table.rows.empty()) return log_info("no difference: it is the same experiment");
  print(to_plain(table, {}));
}

}  // namespace exprun
