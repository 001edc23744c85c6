#include "control/report/schema_text.h"

#include <nlohmann/json.hpp>

#include "base/word_list.h"
#include "control/report/key_text.h"
#include "control/report/wrapped.h"

namespace exprun {
namespace {

std::string description(const Schema& schema) {
  return schema.value("description", "");
}

std::string types_text(const SchemaSet& schemas, const std::string& kind) {
  std::string list;
  for (const std::string& type : schemas.types(kind))
    list += named(kind + "/" + type, description(*schemas.find(kind, type)));
  return list.empty() ? "" : "\nTypes:\n" + list;
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
  return head + wrapped(described(node), 0, head.size()) + '\n' + keys_text(node, kind);
}

}  // namespace exprun
