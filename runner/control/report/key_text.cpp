#include "control/report/key_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "control/report/values_text.h"
#include "control/report/wrapped.h"
#include "recipe/table_schema.h"

namespace exprun {
namespace {

constexpr size_t kNameColumn = 22;

std::string default_text(const Schema& schema, bool required) {
  if (required) return "; required";
  return schema.contains("default") ? "; default " + toml_of(schema["default"]) : "";
}

std::string sub_table_text(const Schema& node, const std::string& path) {
  return "\n[" + path + "]  " + wrapped(described(node), 0, path.size() + 4) + '\n' +
         keys_text(node, path);
}

}  // namespace

std::string described(const Schema& schema) {
  const std::string unit = schema.value("x-unit", "");
  return schema.value("description", "") + (unit.empty() ? "" : " [" + unit + "]");
}

std::string named(const std::string& name, const std::string& said) {
  std::string line = "  " + name;
  line += std::string(std::max(kNameColumn, line.size() + 2) - line.size(), ' ');
  return line + wrapped(said, kNameColumn, line.size()) + '\n';
}

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

Schema outside_of_tables() {
  Schema keys = parse_json<Schema>(composed_schema())["properties"];
  for (const char* table : kTables) keys.erase(table);
  return {{"properties", std::move(keys)}};
}

}  // namespace exprun
