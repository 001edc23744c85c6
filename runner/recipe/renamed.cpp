#include "recipe/renamed.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace exprun {
std::vector<std::string> old_names(const Schema& key) {
  return key.value("x-renamed-from", std::vector<std::string>{});
}

std::optional<std::string> new_name(const TableSchema& table, const std::string& old) {
  for (const auto& [key, schema] : table.keys()) {
    const std::vector<std::string> names = old_names(*schema);
    if (std::find(names.begin(), names.end(), old) != names.end()) return key;
  }
  return std::nullopt;
}

std::string first_name(const std::string& key, const Schema& schema) {
  const std::vector<std::string> names = old_names(schema);
  return names.empty() ? key : names.front();
}

void take_new_names(const SchemaSet& schemas, Table& root) {
  visit_tables(schemas, root, [](const TablePlace& place) {
    for (Entry& entry : place.table.entries())
      if (const auto name = new_name(place.schema, entry.key)) entry.key = *name;
  });
}

}  // namespace exprun
