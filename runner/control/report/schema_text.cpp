#include "control/report/schema_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/format_units.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "control/report/standard_output.h"
#include "recipe/key_path.h"
#include "recipe/schema/schema.h"
#include "recipe/schema/table_schema.h"
#include "recipe/toml/write.h"
#include "recipe/value.h"

namespace exprun {
namespace {

std::string choices(const Schema& values) {
  std::vector<std::string> words;
  for (const Schema& value : values) words.push_back(toml_of(value));
  return alternatives(words);
}

// " >= 1, < 10"
std::string bounds(const Schema& schema) {
  std::string result;
  for (const auto& [keyword, sign] :
       {std::pair("minimum", ">="), std::pair("exclusiveMinimum", ">"), std::pair("maximum", "<="),
        std::pair("exclusiveMaximum", "<")})
    if (schema.contains(keyword))
      result += (result.empty() ? " " : ", ") + std::string(sign) + ' ' +
                shortest(schema[keyword].get<double>());
  return result;
}

std::string period_text(const Schema& schema) {
  return "duration in " + alternatives(schema["x-period"].get<std::vector<std::string>>()) +
         (schema.contains("exclusiveMinimum") ? ", > 0" : "");
}

// "integer >= 1", "\"adam\" or \"lion\"", "duration in steps or epochs, > 0".
std::string values_text(const Schema& schema);

std::string array_text(const Schema& schema) {
  const size_t least = schema.value("minItems", size_t{0});
  const bool exact = least > 0 && schema.value("maxItems", size_t{0}) == least;
  return "array of " + (exact ? std::to_string(least) + " x " : "") +
         (schema.contains("items") ? values_text(schema["items"]) : "values");
}

// One of the types that a schema allows; nothing for a text that may only be "auto".
std::string one_type(const Schema& schema, const std::string& type) {
  if (type == "array") return array_text(schema);
  if (type == "integer" || type == "number")
    return (type == "integer" ? "integer" : "float") + bounds(schema);
  if (type == "object") return "table";
  if (type != "string") return type;
  if (schema.value("pattern", "") == "^auto$") return "\"auto\"";
  return schema.contains("x-path") ? "path" : "string";
}

std::string values_text(const Schema& schema) {
  if (schema.contains("enum")) return choices(schema["enum"]);
  if (schema.contains("const")) return toml_of(schema["const"]);
  if (schema.contains("x-period")) return period_text(schema);
  std::vector<std::string> words;
  if (const auto type = schema.find("type"); type != schema.end())
    for (const Schema& name : type->is_array() ? *type : Schema::array({*type}))
      words.push_back(one_type(schema, name.get<std::string>()));
  for (const char* keyword : {"anyOf", "oneOf"})
    if (schema.contains(keyword))
      for (const Schema& branch : schema[keyword]) words.push_back(values_text(branch));
  return words.empty() ? "any value" : alternatives(words);
}

}  // namespace

std::string toml_of(const Schema& json) {
  return toml_text(value_of_json(json, Origin::default_value));
}

namespace {

// Keys of the recipe language, explained in lines from their schemas.
// "what it means [unit]"
std::string described(const Schema& schema);

// So for the keys of a table's schema; its sub-tables come after them, under a heading each.
std::string keys_text(const Schema& node, const std::string& path);

constexpr size_t kNameColumn = 22;

std::string default_text(const Schema& schema, bool required) {
  if (required) return "; required";
  return schema.contains("default") ? "; default " + toml_of(schema["default"]) : "";
}

std::string sub_table_text(const Schema& node, const std::string& path) {
  return "\n[" + path + "]  " + wrapped(described(node), 0, path.size() + 4) + '\n' +
         keys_text(node, path);
}

std::string described(const Schema& schema) {
  const std::string unit = schema.value("x-unit", "");
  return schema.value("description", "") + (unit.empty() ? "" : " [" + unit + "]");
}

// A name and, in a column beside it, what is said of it.
std::string named(const std::string& name, const std::string& said) {
  std::string line = "  " + name;
  line += std::string(std::max(kNameColumn, line.size() + 2) - line.size(), ' ');
  return line + wrapped(said, kNameColumn, line.size()) + '\n';
}

// What a key may be, its default, what it means.
std::string key_text(const std::string& key, const Schema& schema, bool required) {
  return named(key, values_text(schema) + default_text(schema, required)) +
         std::string(kNameColumn, ' ') + wrapped(described(schema), kNameColumn, kNameColumn) +
         '\n';
}

std::string keys_text(const Schema& node, const std::string& path) {
  std::string keys, tables;
  const Schema properties = node.value("properties", Schema::object());
  for (const auto& [key, schema] : properties.items()) {
    if (is_table(schema))
      tables += sub_table_text(schema, path + "." + key);
    else
      keys += key_text(key, schema, requires_key(node, key));
  }
  const Schema free = node.value("additionalProperties", Schema(false));
  if (is_table(free))
    tables += sub_table_text(free, path + ".NAME");
  else if (free.is_object())
    keys += key_text("KEY", free, false);
  return keys + tables;
}

// The keys of a recipe that are no tables.
Schema outside_of_tables() {
  Schema keys = parse_json<Schema>(composed_schema())["properties"];
  for (const char* table : kTables) keys.erase(table);
  return {{"properties", std::move(keys)}};
}

std::string description(const Schema& schema) {
  return schema.value("description", "");
}

std::string types_text(const SchemaSet& schemas, const std::string& kind) {
  std::string list;
  for (const std::string& type : schemas.types(kind))
    list += named(kind + "/" + type, description(*schemas.find(kind, type)));
  return list.empty() ? "" : "\nTypes:\n" + list;
}

// The keys that a table has beside those of its type.
std::string shared_keys_text(const SchemaSet& schemas, const std::string& kind) {
  std::vector<std::string> keys;
  const Schema properties = schemas.find(kind)->value("properties", Schema::object());
  for (const auto& [key, schema] : properties.items())
    if (key != "type") keys.push_back(key);
  if (keys.empty()) return "";
  const std::string text = "With every type: " + listed(keys) + "; see exprun schema " + kind;
  return '\n' + wrapped(text, 0, 0) + '\n';
}

}  // namespace

std::string tables_text(const SchemaSet& schemas) {
  std::string result;
  for (const char* table : kTables) {
    const std::vector<std::string> types = schemas.types(table);
    std::string line = description(*schemas.find(table));
    if (!types.empty()) line += "; types: " + alternatives(types);
    result += named(table, line);
  }
  return result + "\nOutside of the tables:\n" + keys_text(outside_of_tables(), "");
}

std::string table_text(const SchemaSet& schemas, const std::string& table) {
  const Schema& node = *schemas.find(table);
  return "[" + table + "]  " + wrapped(described(node), 0, table.size() + 4) + '\n' +
         keys_text(node, table) + types_text(schemas, table);
}

std::string component_text(const SchemaSet& schemas, const std::string& kind,
                           const std::string& type) {
  const Schema& node = *schemas.find(kind, type);
  const std::string head = kind + " type = \"" + type + "\"  ";
  return head + wrapped(described(node), 0, head.size()) + '\n' + keys_text(node, kind) +
         shared_keys_text(schemas, kind);
}

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

// "evaluation.sample.prompt", as a recipe names it: of the type that the table is named after, or
// of any.
void find_in_evaluation(const SchemaSet& schemas, const std::string& name,
                        std::vector<Known>& found) {
  const std::string table = parent_path(name), kind = "evaluation";
  if (!table.starts_with(kind + '.')) return;
  const std::string named = table.substr(kind.size() + 1);
  const auto types = schemas.types(kind);
  const bool is_type = std::find(types.begin(), types.end(), named) != types.end();
  for (const std::string& type : types)
    if (!is_type || type == named) find_known(*schemas.find(kind, type), table, type, name, found);
}

std::vector<Known> known_as(const SchemaSet& schemas, const std::string& name) {
  std::vector<Known> found;
  find_in_evaluation(schemas, name, found);
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
