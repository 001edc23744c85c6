#include "recipe/schema/key_lookup.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "base/suggest.h"
#include "recipe/key_path.h"
#include "recipe/schema/key_synonyms.h"
#include "recipe/schema/table_schema.h"

namespace exprun {
namespace {

constexpr size_t kMostKeysNamed = 20;  // longer lists help nobody

struct DeclaredKey {
  std::string path;
  const Schema* schema;
};

// All keys that the recipe declares, tables without a header included, and below them their keys.
void collect_keys(const SchemaSet& schemas, const TableSchema& schema, const std::string& path,
                  const Table* table, std::vector<DeclaredKey>& keys) {
  const auto descend = [&](const std::string& key, const Schema& node) {
    const Value* value = table == nullptr ? nullptr : table->find(key);
    const Table* inner = value == nullptr ? nullptr : value->as<Table>();
    const std::string below = join_path(path, key);
    keys.push_back({below, &node});
    collect_keys(schemas, *TableSchema::of(schemas, node, inner, key), below, inner, keys);
  };
  for (const auto& [key, node] : schema.keys()) {
    if (is_table(*node))
      descend(key, *node);
    else
      keys.push_back({join_path(path, key), node});
  }
  if (!schema.has_free_names() || table == nullptr) return;
  for (const Entry& entry : table->entries())
    if (const Schema* node = schema.find(entry.key);
        node != nullptr && is_table(*node) && !schema.declares(entry.key))
      descend(entry.key, *node);
}

std::vector<DeclaredKey> declared(const SchemaSet& schemas, const Table& root, bool tables) {
  std::vector<DeclaredKey> keys;
  collect_keys(schemas, *TableSchema::of_recipe(schemas), "", &root, keys);
  std::erase_if(keys, [&](const DeclaredKey& key) { return is_table(*key.schema) != tables; });
  return keys;
}

std::vector<std::string> paths_of(const std::vector<DeclaredKey>& keys) {
  std::vector<std::string> paths;
  for (const DeclaredKey& key : keys) paths.push_back(key.path);
  return paths;
}

// `key` is the path or its end.
bool names(const std::string& key, const std::string& path) {
  return path == key || path.ends_with("." + key);
}

struct Walked {
  const Schema* schema = nullptr;
  bool freely = false;  // a part of the path is a name of the user's
};

Walked walk(const SchemaSet& schemas, const Table& root, const std::string& path) {
  const Table* table = &root;
  auto in = TableSchema::of_recipe(schemas);
  Walked walked;
  std::string name;
  for (const std::string& part : split_path(path)) {
    if (walked.schema != nullptr) {
      if (!is_table(*walked.schema)) return {};
      in = TableSchema::of(schemas, *walked.schema, table, name);
    }
    walked.schema = in->find(part);
    if (walked.schema == nullptr) return {};
    walked.freely = walked.freely || !in->declares(part);
    const Value* value = table == nullptr ? nullptr : table->find(part);
    table = value == nullptr ? nullptr : value->as<Table>();
    name = part;
  }
  return walked;
}

}  // namespace

const Schema* schema_at(const SchemaSet& schemas, const Table& root, const std::string& path) {
  return walk(schemas, root, path).schema;
}

std::string alternative_to(const SchemaSet& schemas, const Table& root, const std::string& path) {
  const Schema* schema = schema_at(schemas, root, path);
  if (schema == nullptr || !schema->contains("x-instead-of")) return "";
  return join_path(parent_path(path), (*schema)["x-instead-of"].get<std::string>());
}

bool is_user_named(const SchemaSet& schemas, const Table& root, const std::string& path) {
  return walk(schemas, root, path).freely;
}

bool is_optional_table(const SchemaSet& schemas, const Table& root, const std::string& path) {
  const Schema* const table = schema_at(schemas, root, path);
  return table != nullptr && is_table(*table) && path.find('.') != path.npos &&
         !table->contains("default");
}

bool says_none(const Value& value) {
  const auto* const text = value.as<std::string>();
  const auto* const flag = value.as<bool>();
  return (flag && !*flag) || (text && is_no_value(*text));
}

std::string help_without_table(const std::string& path) {
  const bool is_switch = turns_table_off(last_part(path));  // "evaluation.enabled" names none
  return "a table is in use where it is written; '~" +
         (is_switch ? join_path(parent_path(path), "NAME") : path) +
         "' on the command line removes it";
}

std::vector<std::string> declared_paths(const SchemaSet& schemas, const Table& root) {
  return paths_of(declared(schemas, root, false));
}

namespace {

// Of several the one whose table is there, if only one is: a table without a default, such as
// [model.lora], is there where it is written.
std::vector<std::string> without_absent(const SchemaSet& schemas, const Table& root,
                                        std::vector<std::string> matches) {
  std::vector<std::string> there;
  for (const std::string& path : matches) {
    const std::string parent = parent_path(path);
    if (!is_optional_table(schemas, root, parent) || find_path(root, parent) != nullptr)
      there.push_back(path);
  }
  return matches.size() > 1 && there.size() == 1 ? there : matches;
}

}  // namespace

std::vector<std::string> preferred_paths(std::vector<std::string> paths) {
  std::vector<std::string> outer;
  for (const std::string& path : paths)
    if (!path.starts_with("evaluation.") && !path.starts_with("optimizer.groups.") &&
        !path.starts_with("sweep."))
      outer.push_back(path);
  return outer.size() == 1 ? outer : paths;
}

std::vector<std::string> matching_paths(const SchemaSet& schemas, const Table& root,
                                        const std::string& key) {
  if (split_path(key).empty()) return {};
  if (schema_at(schemas, root, key) != nullptr) return {key};
  for (const bool tables : {false, true}) {
    std::vector<std::string> matches = paths_of(declared(schemas, root, tables));
    std::erase_if(matches, [&](const std::string& path) { return !names(key, path); });
    if (!matches.empty()) return without_absent(schemas, root, preferred_paths(std::move(matches)));
  }
  return {};
}

std::optional<MeantKey> meant_key(const SchemaSet& schemas, const std::string& path,
                                  const Schema& table, const std::string& text) {
  const Schema keys = table.value("properties", Schema::object());
  for (const auto& [key, node] : keys.items()) {
    std::vector<std::string> choices;
    for (const Schema& choice : node.value("enum", Schema::array()))
      if (choice.is_string()) choices.push_back(choice.get<std::string>());
    if (choices.empty() && key == "type") choices = schemas.types(path);
    if (const auto meant = choice_meant(text, choices)) return MeantKey{key, *meant};
  }
  return std::nullopt;
}

namespace {

bool declares(const Schema& node, const std::string& key) {
  return declares_key(node, key) && key != "type";
}

// [evaluation.NAME], if the table is known.
bool has_tables_of_any_name(const Schema* table) {
  return table != nullptr && table->contains("additionalProperties") &&
         (*table)["additionalProperties"].is_object();
}

}  // namespace

std::vector<TableWithKey> tables_with_key(const SchemaSet& schemas, const std::string& key) {
  std::vector<TableWithKey> tables;
  for (const char* table : kTables) {
    const Schema* node = schemas.find(table);
    if (node != nullptr && declares(*node, key)) tables.push_back({table, {}});
    std::vector<std::string> types;
    for (const std::string& type : schemas.types(table))
      if (declares(*schemas.find(table, type), key)) types.push_back(type);
    const bool named = has_tables_of_any_name(node);
    for (const std::string& type : types)
      if (named) tables.push_back({join_path(table, type), {}});
    if (named || types.empty()) continue;
    const bool all = types.size() == schemas.types(table).size();
    tables.push_back({table, all ? std::vector<std::string>() : std::move(types)});
  }
  return tables;
}

std::string to_string(const TableWithKey& table) {
  std::vector<std::string> types = table.types;
  for (std::string& type : types) type = '"' + type + '"';
  return '[' + table.table + ']' + (types.empty() ? "" : " with type = " + alternatives(types));
}

std::vector<std::string> tables_in_tables(const SchemaSet& schemas) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& table, const Schema* schema) {
    if (schema == nullptr || !schema->contains("properties")) return;
    for (const auto& [key, node] : schema->at("properties").items()) {
      const std::string path = join_path(table, key);
      if (is_table(node) && std::ranges::count(paths, path) == 0) paths.push_back(path);
    }
  };
  for (const char* table : kTables) {
    const Schema* node = schemas.find(table);
    add(table, node);
    for (const std::string& type : schemas.types(table))
      if (!has_tables_of_any_name(node)) add(table, schemas.find(table, type));
  }
  return paths;
}

std::string names_of_keys(const std::string& table, const std::vector<std::string>& keys) {
  return keys.size() > kMostKeysNamed ? "`exprun schema " + table + "` names its keys"
                                      : "the keys of [" + table + "] are " + listed(keys);
}

namespace {

// For a key that is like none.
std::string suggest_table(const SchemaSet& schemas, const Table& root, const std::string& key) {
  const auto tables = paths_of(declared(schemas, root, true));
  if (const auto near = nearest(key, tables)) return "did you mean '" + *near + "'?";
  return "`exprun schema` names the tables of a recipe";
}

// What may stand in the table at a path, which may be one that the recipe does not have yet; empty
// where there can be no such table.
std::vector<std::string> keys_of_table(const SchemaSet& schemas, const Table& root,
                                       const std::string& path) {
  const Schema* const schema = path.empty() ? nullptr : schema_at(schemas, root, path);
  if (schema == nullptr || !is_table(*schema)) return {};
  const Value* const value = find_path(root, path);
  const Table* const table = value == nullptr ? nullptr : value->as<Table>();
  return TableSchema::of(schemas, *schema, table, last_part(path))->names();
}

}  // namespace

namespace {

// A name that several tables have is a key only with the table: one whose name begins as the one
// that was written, if there is one.
std::string named_in(const std::string& table, const std::string& name,
                     std::vector<std::string> paths) {
  std::erase_if(paths, [&](const std::string& path) { return last_part(path) != name; });
  if (paths.size() < 2) return "'" + name + "'";
  std::vector<std::string> near = paths;
  std::erase_if(near, [&](const std::string& path) { return !path.starts_with(table); });
  std::vector<std::string> quoted;
  for (const std::string& path : near.empty() ? paths : near) quoted.push_back("'" + path + "'");
  return alternatives(quoted);
}

}  // namespace

std::string suggest_path(const SchemaSet& schemas, const Table& root, const std::string& key) {
  // One of an evaluation that the recipe does not have yet: "val_loss.tokens".
  const std::vector<std::string> parts = split_path(key), types = schemas.types("evaluation");
  const bool of_evaluation =
      parts.size() > 1 && std::find(types.begin(), types.end(), parts.front()) != types.end();
  if (of_evaluation && schema_at(schemas, root, "evaluation." + key) != nullptr)
    return "did you mean 'evaluation." + key + "'?";
  if (has_word_for_type(parent_path(key), last_part(key)))
    return "did you mean '" + join_path(parent_path(key), "type") + "'?";
  if (parts.size() > 1 && parts.front() == "hydra")
    return "exprun has no settings of Hydra's own; --store DIR names the folder of the runs";
  if (turns_table_off(last_part(key)) && is_optional_table(schemas, root, parent_path(key)))
    return help_without_table(parent_path(key));
  const KeySynonym* synonym = key_synonym(key);
  if (synonym == nullptr) synonym = key_synonym(last_part(key));
  if (synonym != nullptr)
    return *synonym->path
               ? "did you mean '" + std::string(synonym->path) + "'" + synonym->note + "?"
               : synonym->note;
  const std::vector<std::string> paths = declared_paths(schemas, root);
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(last_part(path));
  const std::string own = parent_path(key);
  const std::vector<std::string> own_keys = keys_of_table(schemas, root, own);
  const std::vector<TableWithKey> tables = tables_with_key(schemas, last_part(key));
  // In another table; of a name that several have, as tokens, the user means the one of its own.
  if (std::count(names.begin(), names.end(), last_part(key)) == 1 &&
      (own_keys.empty() || tables.size() < 2))
    return "did you mean '" +
           paths[std::find(names.begin(), names.end(), last_part(key)) - names.begin()] + "'?";
  // Of another type than that of the recipe.
  for (const TableWithKey& each : tables)
    if (!each.types.empty() && (key == last_part(key) || each.table == parent_path(key)))
      return "it belongs in " + to_string(each);
  if (!own_keys.empty()) {
    auto near_own = name_meant(last_part(key), own_keys);
    if (!near_own) near_own = nearest(last_part(key), own_keys);
    return near_own ? "did you mean '" + join_path(own, *near_own) + "'?"
                    : names_of_keys(own, own_keys);
  }
  auto near = name_meant(last_part(key), names);
  if (const auto path = near ? std::nullopt : nearest(key, paths))
    return "did you mean '" + *path + "'?";
  if (!near) near = nearest(last_part(key), names);
  if (!near) return suggest_table(schemas, root, key);
  return "did you mean " + named_in(parent_path(key), *near, paths) + "?";
}

}  // namespace exprun
