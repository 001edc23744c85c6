#include "control/command/line/override_completions.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "control/command/line/recipe_words.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "recipe/key_path.h"
#include "recipe/resolved.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/schema/validate_value.h"

namespace exprun {
namespace {

// Full paths, and the last part alone where only one key has it.
Words key_names(const Words& paths) {
  std::map<std::string, int> count;
  for (const std::string& path : paths) ++count[last_part(path)];
  Words names;
  for (const std::string& path : paths) {
    if (count[last_part(path)] == 1) names.push_back(last_part(path));
    names.push_back(path);
  }
  return names;
}

// As a change says it: a text needs no quotes of TOML.
std::string bare(const Schema& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

// What picks a component of the table's kind; empty where it picks none.
Words types_at(const SchemaSet& schemas, const Table& root, const std::string& path) {
  if (last_part(path) != "type") return {};
  const Schema* table = schema_at(schemas, root, parent_path(path));
  return table == nullptr ? Words{} : schemas.types(table->value("x-kind", ""));
}

// The values that a schema names one by one; else its default.
Words named_values(const SchemaSet& schemas, const Table& root, const std::string& path) {
  const Schema& schema = *schema_at(schemas, root, path);
  Words values = types_at(schemas, root, path);
  const auto add = [&](const std::string& value) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  };
  for (const Schema& choice : schema.value("enum", Schema::array())) add(bare(choice));
  if (allows_type(schema, "boolean"))
    for (const char* value : {"true", "false"}) add(value);
  if (may_be_auto(schema)) add("auto");
  if (values.empty() && schema.contains("default")) add(bare(schema["default"]));
  return values;
}

Words keys(const SchemaSet& schemas, const Table& root, const std::string& sign) {
  Words found;
  for (const std::string& name : key_names(declared_paths(schemas, root)))
    found.push_back(sign == "~" ? sign + name : sign + name + '=');
  return found;
}

}  // namespace

Words override_completions(const RecipeText& recipe, const std::string& last) {
  const SchemaSet& schemas = SchemaSet::embedded();
  const Resolution resolution = try_resolve(recipe);
  const Table& root = resolution.recipe.root();
  const std::string sign = sign_of(last);
  const size_t equals = last.find('=');
  if (equals == last.npos) return keys(schemas, root, sign);
  const Words paths = matching_paths(schemas, root, last.substr(sign.size(), equals - sign.size()));
  if (paths.size() != 1) return {};
  Words found;
  for (const std::string& value : named_values(schemas, root, paths[0]))
    found.push_back(last.substr(0, equals + 1) + value);
  return found;
}

Words override_completions_in(const std::string& table, const RecipeText& recipe,
                              const std::string& last) {
  const std::string sign = sign_of(last), start = change_in(table, sign);
  Words found;
  for (const std::string& change : override_completions(recipe, change_in(table, last)))
    if (change.starts_with(start)) found.push_back(sign + change.substr(start.size()));
  return found;
}

namespace offer {

RecipeText named_recipe(const Typed& typed) {
  if (typed.before.empty()) return {};
  const std::string& name = typed.before[0];
  Words changes(typed.before.begin() + 1, typed.before.end());
  if (std::error_code ignored; std::filesystem::is_other(name, ignored))
    return {};  // a pipe is the command's to read
  if (names_recipe_file(name)) return read_recipe(name, changes);
  const Store store = open_store(typed.store);
  return stored_recipe(store, find_run(store, typed.store, name), changes);
}

Words changes(const Typed& typed) {
  return override_completions(named_recipe(typed), typed.last);
}

Offer recipe_or(Offer changes_without) {
  return [changes_without = std::move(changes_without)](const Typed& typed) {
    if (!typed.before.empty() && typed.before[0].find_first_of("=~") == std::string::npos)
      return changes(typed);
    Words words = typed.before.empty() ? recipes(typed) : Words{};
    const Words more = offered(changes_without, typed);
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
}

}  // namespace offer

}  // namespace exprun
