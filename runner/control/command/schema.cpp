// exprun schema [TABLE|KIND/TYPE|KEY] [--json]
#include "recipe/schema/schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/suggest.h"
#include "control/command/command.h"
#include "control/command/line/arguments.h"
#include "control/report/schema_text.h"
#include "control/report/standard_output.h"
#include "recipe/key_path.h"
#include "recipe/schema/key_synonyms.h"

namespace exprun {
namespace {

// "optimizer/adamw" for the type alone.
std::vector<std::string> names_of_type(const SchemaSet& schemas, const std::string& type) {
  std::vector<std::string> names;
  for (const std::string& name : schemas.names())
    if (name.ends_with('/' + type)) names.push_back(name);
  return names;
}

// The whole path of the key below `path` that has this word among its values.
std::optional<std::string> key_with_value(const Schema& table, const std::string& path,
                                          const std::string& word) {
  const Schema keys = table.value("properties", Schema::object());
  for (const auto& [key, schema] : keys.items()) {
    const Schema values = schema.value("enum", Schema::array());
    if (std::ranges::find(values, Schema(word)) != values.end()) return join_path(path, key);
    if (auto below = key_with_value(schema, join_path(path, key), word)) return below;
  }
  return std::nullopt;
}

// The same among all tables.
std::optional<std::string> key_with_value(const SchemaSet& schemas, const std::string& word) {
  for (const auto& [file, schema] : schemas.files())
    if (auto key = key_with_value(*schema, file.substr(0, file.find_first_of("/.")), word))
      return key;
  return std::nullopt;
}

[[noreturn]] void refuse(const SchemaSet& schemas, const std::string& name) {
  const KeySynonym* synonym = key_synonym(name);
  const auto types = names_of_type(schemas, name);
  auto near = types.empty() ? std::nullopt : std::optional(types.front());
  if (!near && synonym && *synonym->path) near = synonym->path;
  const auto key = near ? std::nullopt : key_with_value(schemas, name);
  if (key)
    throw Error("schema: '" + name + "' is a value of '" + *key + "'; exprun schema " + *key +
                    " explains it",
                ExitCode::bad_recipe);
  if (!near) near = nearest(name, explained_names(schemas));
  throw Error("schema: there is no table, type or key '" + name + "'" +
                  (near ? "; did you mean '" + *near + "'?" : "; exprun schema lists them"),
              ExitCode::bad_recipe);
}

// The schema file or key that is meant: people write "adamw" or "optimizer.adamw" for
// "optimizer/adamw".
std::string known_name(const SchemaSet& schemas, const std::string& name) {
  if (name.empty() || schemas.find(name) || !keys_named_text(schemas, name).empty()) return name;
  if (const auto types = names_of_type(schemas, name); types.size() == 1) return types.front();
  std::string file = name;
  if (const size_t dot = name.find('.'); dot != std::string::npos) file[dot] = '/';
  if (!schemas.find(file)) refuse(schemas, name);
  return file;
}

std::string explained(const SchemaSet& schemas, const std::string& name) {
  if (name.empty()) return tables_text(schemas) + "\nexprun schema TABLE explains its keys.\n";
  if (schemas.find(name) == nullptr) return keys_named_text(schemas, name);
  const size_t slash = name.find('/');
  if (slash == std::string::npos) return table_text(schemas, name);
  return component_text(schemas, name.substr(0, slash), name.substr(slash + 1));
}

std::string as_json(const SchemaSet& schemas, const std::string& name) {
  if (name.empty()) return std::string(composed_schema());
  const Schema* schema = schemas.find(name);
  return (schema ? *schema : keys_named_json(schemas, name)).dump(2) + '\n';
}

// Everything would be hundreds: keys come with their first letter.
Words offered_names(const Typed& typed) {
  const SchemaSet& schemas = SchemaSet::embedded();
  return typed.last.empty() ? schemas.names() : explained_names(schemas);
}

}  // namespace

int run_schema(const Words& words, const Globals&) {
  std::string name;
  bool json = false;
  Arguments arguments("schema [TABLE|KIND/TYPE|KEY]",
                      "Explains the keys of recipes: allowed values, default, meaning.");
  arguments
      .optional_word("TABLE|KIND/TYPE|KEY", name,
                     "such as optimizer, optimizer/adamw or lr (default: all)", offered_names)
      .flag(
          "--json", json,
          "print JSON Schema: for a key, a list with an entry for each table that has it; without "
          "a name, the whole schema, for editors")
      .exit_codes({ExitCode::done, ExitCode::bad_recipe})
      .example("exprun schema schedule", "the keys of [schedule], and its types")
      .example("exprun schema optimizer/adamw", "the keys of one type")
      .example("exprun schema betas", "a key, in every table that has it")
      .example("exprun schema --json > recipe.schema.json",
               "for editors; begin recipes with #:schema recipe.schema.json");
  if (!arguments.parse(words)) return 0;
  const SchemaSet& schemas = SchemaSet::embedded();
  name = known_name(schemas, name);
  print(json ? as_json(schemas, name) : explained(schemas, name));
  return 0;
}

}  // namespace exprun
