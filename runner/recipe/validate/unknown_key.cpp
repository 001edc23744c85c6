#include "recipe/validate/unknown_key.h"

#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "base/synonyms.h"
#include "base/word_list.h"
#include "recipe/key_path.h"
#include "recipe/renamed.h"

namespace exprun {
namespace {

constexpr size_t kMostTables = 3;    // more homes of a key than this help nobody
constexpr size_t kMostChoices = 16;  // longer lists are left out

std::string quoted(const std::string& word) {
  return "'" + word + "'";
}

bool declares(const Schema& node, const std::string& key) {
  return declares_key(node, key) && key != "type";
}

// Where a key is at home: "[optimizer]", "[schedule] of type \"wsd\"", "[evaluation.sample]".
std::vector<std::string> homes(const SchemaSet& schemas, const std::string& key) {
  std::vector<std::string> homes;
  for (const char* table : kTables) {
    const Schema* node = schemas.find(table);
    if (node != nullptr && declares(*node, key)) homes.push_back("[" + std::string(table) + "]");
    std::vector<std::string> types;
    for (const std::string& type : schemas.types(table))
      if (declares(*schemas.find(table, type), key)) types.push_back(type);
    const bool named = node != nullptr && node->contains("additionalProperties") &&
                       (*node)["additionalProperties"].is_object();
    for (const std::string& type : types)
      if (named) homes.push_back("[" + std::string(table) + "." + type + "]");
    if (named || types.empty()) continue;
    const bool all = types.size() == schemas.types(table).size();
    homes.push_back("[" + std::string(table) + "]" +
                    (all ? "" : " of type \"" + types.front() + "\""));
  }
  return homes;
}

// "did you mean 'hidden_size' in [model]?", of a word of another tool.
std::string help_for_synonym(const KeySynonym& synonym, const std::string& table) {
  const std::string home = parent_path(synonym.path), key = last_part(synonym.path);
  return "did you mean " + quoted(key) + (home == table ? "" : " in [" + home + "]") +
         synonym.note + "?";
}

std::string help_for_key(const SchemaSet& schemas, const TablePlace& place,
                         const std::string& key) {
  const std::vector<std::string> others = homes(schemas, key);
  if (!others.empty() && others.size() <= kMostTables) return "belongs in " + alternatives(others);
  if (const KeySynonym* synonym = key_synonym(key)) return help_for_synonym(*synonym, place.path);
  const std::vector<std::string> names = place.schema.names();
  if (const auto near = nearest(key, names)) return "did you mean '" + *near + "'?";
  if (names.size() > kMostChoices) return "";
  return "its keys are " + listed(names);
}

Diagnostic unknown_table(const TablePlace& place, const Entry& entry) {
  auto near = table_synonym(entry.key);
  if (!near) near = nearest(entry.key, place.schema.names());
  return {
      entry.where, "unknown table [" + entry.key + "]",
      near ? "did you mean [" + *near + "]?" : "the tables are " + listed(place.schema.names())};
}

Diagnostic renamed_key(const TablePlace& place, const Entry& entry, const std::string& name) {
  return {entry.where, quoted(entry.key) + " in [" + place.path + "] is now called " + quoted(name),
          "write " + name};
}

Diagnostic key_outside(const SchemaSet& schemas, const Entry& entry) {
  const std::vector<std::string> others = homes(schemas, entry.key);
  std::string help = "keys stand below a table's header, such as [run]";
  if (!others.empty() && others.size() <= kMostTables) help = "belongs in " + alternatives(others);
  if (const auto near = nearest(entry.key, {"extends", "version"}))
    help = "did you mean '" + *near + "'?";
  else if (const KeySynonym* synonym = key_synonym(entry.key))
    help = help_for_synonym(*synonym, "");
  return {entry.where, "unknown key " + quoted(entry.key) + " outside of any table", help};
}

}  // namespace

Diagnostic unknown_key(const SchemaSet& schemas, const TablePlace& place, const Entry& entry) {
  const bool in_recipe = place.path.empty();
  if (in_recipe && entry.value.as<Table>() != nullptr) return unknown_table(place, entry);
  if (in_recipe) return key_outside(schemas, entry);
  if (const auto name = new_name(place.schema, entry.key)) return renamed_key(place, entry, *name);
  return {entry.where, "unknown key " + quoted(entry.key) + " in [" + place.path + "]",
          help_for_key(schemas, place, entry.key)};
}

Diagnostic unknown_type(const SchemaSet& schemas, const std::string& kind, const Value& type) {
  std::vector<std::string> choices;
  for (const std::string& choice : schemas.types(kind)) choices.push_back("\"" + choice + "\"");
  const std::string name = *type.as<std::string>();
  const auto near = nearest(name, schemas.types(kind));
  return {type.where, "unknown " + kind + " \"" + name + "\": it can be " + alternatives(choices),
          near ? "did you mean \"" + *near + "\"?" : ""};
}

}  // namespace exprun
