#include "recipe/schema/unknown_key.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "base/suggest.h"
#include "recipe/key_path.h"
#include "recipe/schema/key_lookup.h"

namespace exprun {
namespace {

constexpr size_t kMostTables = 3;  // more tables with a key than this help nobody

std::string quoted(const std::string& word) {
  return "'" + word + "'";
}

// What only an axis can have: several values, not a value of the key itself.
bool is_of_several(const Value& value) {
  const auto* const text = value.as<std::string>();
  return text ? text->find_first_of(",(") != text->npos || text->find("..") != text->npos
              : value.as<Array>() != nullptr || value.as<Table>() != nullptr;
}

// "lr", or "optimizer.lr" in quotes, that stands above [sweep.axes].
bool is_meant_as_axis(const SchemaSet& schemas, const std::string& table, const Entry& entry) {
  if (table != "sweep" || !is_of_several(entry.value)) return false;
  const bool is_path = entry.key.find('.') != entry.key.npos;
  return is_path ? schema_at(schemas, {}, entry.key) != nullptr
                 : !tables_with_key(schemas, entry.key).empty();
}

// Empty for a key that no table has, or very many.
std::string help_for_tables_with(const SchemaSet& schemas, const std::string& key) {
  std::vector<std::string> tables;
  for (const TableWithKey& each : tables_with_key(schemas, key)) tables.push_back(to_string(each));
  return tables.empty() || tables.size() > kMostTables ? ""
                                                       : "it belongs in " + alternatives(tables);
}

std::string help_for_key(const SchemaSet& schemas, const TablePlace& place, const Entry& entry) {
  const std::string& key = entry.key;
  if (const KeySynonym* here = key_synonym(join_path(place.path, key)); here && !place.path.empty())
    return help_for_synonym(*here, place.path);
  if (key == "extends" || key == "version") return "it belongs above the first table";
  if (has_word_for_type(place.path, key)) return "did you mean 'type'?";
  if (is_meant_as_axis(schemas, place.path, entry)) return "it belongs in [sweep.axes]";
  if (turns_table_off(key) && is_optional_table(schemas, {}, place.path))
    return help_without_table(place.path);
  if (const std::string help = help_for_tables_with(schemas, key); !help.empty()) return help;
  if (const KeySynonym* synonym = key_synonym(key)) return help_for_synonym(*synonym, place.path);
  const std::vector<std::string> names = place.schema.names();
  auto near = name_meant(key, names);
  if (!near) near = nearest(key, names);
  if (near) return "did you mean '" + *near + "'?";
  return names_of_keys(place.path, names);
}

// Whether an entry of an unknown table is one that `table` may have.
bool belongs_in(const SchemaSet& schemas, const std::string& table, const Entry& entry) {
  const std::vector<std::string> types = schemas.types(table);
  if (TableSchema::of(schemas, *schemas.find(table), nullptr, table)->has_free_names() &&
      (entry.value.as<Table>() != nullptr ||
       std::find(types.begin(), types.end(), entry.key) != types.end()))
    return true;  // [evaluation.NAME]
  if (entry.key == "type") return !types.empty();
  if (has_word_for_type(table, entry.key) || is_meant_as_axis(schemas, table, entry)) return true;
  return std::ranges::any_of(tables_with_key(schemas, entry.key), [&](const TableWithKey& each) {
    return split_path(each.table).front() == table;
  });
}

// "batch", of a key, or another tool's word for one, that one table has. Empty for a table and a
// 'name', which may be those of anything.
std::string only_table_with(const SchemaSet& schemas, const Entry& entry) {
  if (entry.value.as<Table>() != nullptr || entry.key == "name") return "";
  const std::vector<TableWithKey> tables = tables_with_key(schemas, entry.key);
  if (tables.size() == 1) return tables.front().table;
  const KeySynonym* const synonym = tables.empty() ? key_synonym(entry.key) : nullptr;
  return synonym ? parent_path(synonym->path) : "";
}

// Where the keys of an unknown table belong: in the one `near` it, if they may, else each in its
// own.
std::vector<std::string> tables_for_keys(const SchemaSet& schemas, const Table& table,
                                         const std::optional<std::string>& near) {
  std::vector<std::string> tables;
  for (const Entry& entry : table.entries()) {
    const bool is_of_near = near && belongs_in(schemas, *near, entry);
    const std::string its_table = is_of_near ? *near : only_table_with(schemas, entry);
    if (!its_table.empty() && std::find(tables.begin(), tables.end(), its_table) == tables.end())
      tables.push_back(its_table);
  }
  if (tables.empty() && near) tables.push_back(*near);
  return tables;
}

// How many entries of `table` the one at `path` may have.
int64_t shared_keys(const SchemaSet& schemas, const std::string& path, const Table& table) {
  const Schema* const schema = schema_at(schemas, {}, path);
  return std::ranges::count_if(table.entries(), [&](const Entry& entry) {
    return schema != nullptr && declares_key(*schema, entry.key);
  });
}

// "run.early_stop" of [early_stop] with the key patience: the tables of this name that stand in
// another, those that may have the most of its keys.
std::vector<std::string> tables_within(const SchemaSet& schemas, const std::string& name,
                                       const Table& table) {
  std::vector<std::string> paths = tables_in_tables(schemas);
  std::erase_if(paths, [&](const std::string& path) { return last_part(path) != name; });
  std::vector<std::string> meant;
  int64_t most = 0;
  for (const std::string& path : paths) {
    const int64_t shared = shared_keys(schemas, path, table);
    if (shared > most) meant.clear();
    most = std::max(most, shared);
    if (shared == most) meant.push_back(path);
  }
  return meant;
}

// "early_stop" of "earlystop"
std::optional<std::string> near_table_within(const SchemaSet& schemas, const std::string& word) {
  std::vector<std::string> names;
  for (const std::string& path : tables_in_tables(schemas)) names.push_back(last_part(path));
  return nearest(word, names);
}

std::vector<std::string> with_brackets(std::vector<std::string> tables) {
  for (std::string& table : tables) table = '[' + table + ']';
  return tables;
}

std::string help_for_table(const SchemaSet& schemas, const TablePlace& place, const Entry& entry) {
  const Table& table = *entry.value.as<Table>();
  const KeySynonym* synonym = key_synonym(entry.key);
  if (synonym && !*synonym->path) return synonym->note;  // no table is needed
  const std::string of_synonym = synonym ? parent_path(synonym->path) : "";
  const std::string name =
      of_synonym.find('.') == of_synonym.npos ? entry.key : last_part(of_synonym);
  if (const auto within = tables_within(schemas, name, table); !within.empty())
    return "write " + alternatives(with_brackets(within));
  auto near = table_synonym(entry.key);
  if (!near) near = nearest(entry.key, place.schema.names());
  const std::vector<std::string> tables = tables_for_keys(schemas, table, near);
  if (const auto inner = near ? std::nullopt : near_table_within(schemas, entry.key))
    return "did you mean " + alternatives(with_brackets(tables_within(schemas, *inner, table))) +
           "?";
  if (tables.empty()) return "the tables are " + listed(place.schema.names());
  const bool is_renamed = near && tables.size() == 1 && tables.front() == *near;
  if (is_renamed && place.table.find(*near) == nullptr) return "did you mean [" + *near + "]?";
  return "its keys belong in " + listed(with_brackets(tables));
}

Diagnostic unknown_table(const SchemaSet& schemas, const TablePlace& place, const Entry& entry) {
  return {entry.where, "unknown table [" + entry.key + "]", help_for_table(schemas, place, entry)};
}

Diagnostic key_outside(const SchemaSet& schemas, const Entry& entry) {
  std::string help = help_for_tables_with(schemas, entry.key);
  if (help.empty()) help = "write keys below the header of a table, such as [run]";
  if (const auto near = nearest(entry.key, {"extends", "version"}))
    help = "did you mean '" + *near + "'?";
  else if (const KeySynonym* synonym = key_synonym(entry.key))
    help = help_for_synonym(*synonym, "");
  return {entry.where, "unknown key " + quoted(entry.key) + " outside of any table", help};
}

}  // namespace

Diagnostic unknown_key(const SchemaSet& schemas, const TablePlace& place, const Entry& entry) {
  const bool in_recipe = place.path.empty();
  if (in_recipe && entry.value.as<Table>() != nullptr) return unknown_table(schemas, place, entry);
  if (in_recipe) return key_outside(schemas, entry);
  return {entry.where, "unknown key " + quoted(entry.key) + " in [" + place.path + "]",
          help_for_key(schemas, place, entry)};
}

std::string help_for_synonym(const KeySynonym& synonym, const std::string& table) {
  if (!*synonym.path) return synonym.note;
  const std::string its_table = parent_path(synonym.path), key = last_part(synonym.path);
  return "did you mean " + quoted(key) + (its_table == table ? "" : " in [" + its_table + "]") +
         synonym.note + "?";
}

std::string types_to_choose(const SchemaSet& schemas, const std::string& kind) {
  std::vector<std::string> choices;
  for (const std::string& choice : schemas.types(kind)) choices.push_back("\"" + choice + "\"");
  return alternatives(choices);
}

Diagnostic unknown_type(const SchemaSet& schemas, const std::string& kind, const Value& type) {
  const std::string name = *type.as<std::string>();
  const auto near = choice_meant(name, schemas.types(kind));
  const std::string note = type_note(kind, name);
  return {type.where,
          "unknown " + kind + " \"" + name + "\": it can be " + types_to_choose(schemas, kind),
          !note.empty() ? note
          : near        ? "did you mean \"" + *near + "\"?"
                        : ""};
}

}  // namespace exprun
