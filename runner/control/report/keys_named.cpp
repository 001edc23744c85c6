#include "control/report/keys_named.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/word_list.h"
#include "control/report/key_text.h"
#include "control/report/wrapped.h"
#include "recipe/table_schema.h"

namespace exprun {
namespace {

std::string paragraph(const std::string& words) {
  return "  " + wrapped(words, 2, 2) + '\n';
}

// A key or a sub-table, by the heading that it stands under, and the types that say it.
struct Known {
  std::string heading, explained;
  Schema schema;
  std::vector<std::string> types = {};
};

void add(Known known, const std::string& type, std::vector<Known>& found) {
  const auto same = std::find_if(found.begin(), found.end(), [&](const Known& other) {
    return other.heading == known.heading && other.explained == known.explained;
  });
  Known& entry = same == found.end() ? found.emplace_back(std::move(known)) : *same;
  if (!type.empty()) entry.types.push_back(type);
}

void find_known(const Schema& node, const std::string& path, const std::string& type,
                const std::string& name, std::vector<Known>& found) {
  const Schema properties = node.value("properties", Schema::object());
  for (const auto& [key, schema] : properties.items()) {
    const std::string whole = path.empty() ? key : path + "." + key;
    const bool inner = is_table(schema);
    if (("." + whole).ends_with("." + name))
      add(inner ? Known{whole, paragraph(described(schema)) + keys_text(schema, whole), schema}
                : Known{path,
                        key_text(key, schema, requires_key(node, key)),
                        {{"properties", {{key, schema}}}}},
          type, found);
    if (inner) find_known(schema, whole, type, name, found);
  }
  const Schema free = node.value("additionalProperties", Schema(false));
  if (is_table(free)) find_known(free, path + ".NAME", type, name, found);
}

// Of every key and sub-table: its name, and its path.
void add_names(const Schema& node, const std::string& path, std::vector<std::string>& names) {
  const Schema properties = node.value("properties", Schema::object());
  for (const auto& [key, schema] : properties.items()) {
    const std::string whole = path.empty() ? key : path + "." + key;
    names.push_back(key);
    if (!path.empty()) names.push_back(whole);
    if (is_table(schema)) add_names(schema, whole, names);
  }
  const Schema free = node.value("additionalProperties", Schema(false));
  if (is_table(free)) add_names(free, path + ".NAME", names);
}

std::vector<Known> known_as(const SchemaSet& schemas, const std::string& name) {
  std::vector<Known> found;
  find_known(outside_of_tables(), "", "", name, found);
  for (const char* table : kTables) {
    find_known(*schemas.find(table), table, "", name, found);
    for (const std::string& type : schemas.types(table))
      find_known(*schemas.find(table, type), table, type, name, found);
  }
  return found;
}

// "[optimizer] of optimizer "adam" or "lion""; without types where they do not matter.
std::string heading_text(const Known& known) {
  if (known.heading.empty()) return "outside of the tables";
  const std::string heading = '[' + known.heading + ']';
  if (known.types.empty()) return heading;
  std::vector<std::string> quoted;
  for (const std::string& type : known.types) quoted.push_back('"' + type + '"');
  return heading + "  of " + known.heading.substr(0, known.heading.find('.')) + ' ' +
         alternatives(quoted);
}

}  // namespace

std::string keys_named_text(const SchemaSet& schemas, const std::string& name) {
  std::string result;
  for (const Known& known : known_as(schemas, name))
    result += (result.empty() ? "" : "\n") + heading_text(known) + '\n' + known.explained;
  return result;
}

std::vector<std::string> explained_names(const SchemaSet& schemas) {
  std::vector<std::string> names = schemas.names();
  add_names(outside_of_tables(), "", names);
  for (const auto& [file, schema] : schemas.files())
    add_names(*schema, file.substr(0, file.find_first_of("/.")), names);
  std::set<std::string> seen;
  std::erase_if(names, [&](const std::string& name) { return !seen.insert(name).second; });
  return names;
}

Schema keys_named_json(const SchemaSet& schemas, const std::string& name) {
  Schema list = Schema::array();
  for (const Known& known : known_as(schemas, name))
    list.push_back({{"table", known.heading}, {"types", known.types}, {"schema", known.schema}});
  return list;
}

}  // namespace exprun
