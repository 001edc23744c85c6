#include "recipe/key_lookup.h"

#include "base/suggest.h"
#include "recipe/key_path.h"
#include "recipe/table_schema.h"

namespace exprun {
namespace {

// All keys that the recipe declares, tables without a header included.
void collect_paths(const SchemaSet& schemas, const TableSchema& schema, const std::string& path,
                   const Table* table, std::vector<std::string>& paths) {
  const auto descend = [&](const std::string& key, const Schema& node) {
    const Value* value = table == nullptr ? nullptr : table->find(key);
    const Table* inner = value == nullptr ? nullptr : value->as<Table>();
    collect_paths(schemas, TableSchema(schemas, node, inner, key), join_path(path, key), inner,
                  paths);
  };
  for (const auto& [key, node] : schema.keys()) {
    if (is_table(*node))
      descend(key, *node);
    else
      paths.push_back(join_path(path, key));
  }
  if (!schema.has_free_names() || table == nullptr) return;
  for (const Entry& entry : table->entries())
    if (const Schema* node = schema.find(entry.key); node != nullptr && is_table(*node))
      descend(entry.key, *node);
}

std::vector<std::string> declared_paths(const SchemaSet& schemas, const Table& root) {
  std::vector<std::string> paths;
  collect_paths(schemas, TableSchema(schemas), "", &root, paths);
  return paths;
}

}  // namespace

const Schema* schema_at(const SchemaSet& schemas, const Table& root, const std::string& path) {
  const Table* table = &root;
  TableSchema in(schemas);
  const Schema* schema = nullptr;
  std::string name;
  for (const std::string& part : split_path(path)) {
    if (schema != nullptr) {
      if (!is_table(*schema)) return nullptr;
      in = TableSchema(schemas, *schema, table, name);
    }
    schema = in.find(part);
    if (schema == nullptr) return nullptr;
    const Value* value = table == nullptr ? nullptr : table->find(part);
    table = value == nullptr ? nullptr : value->as<Table>();
    name = part;
  }
  return schema;
}

std::vector<std::string> matching_paths(const SchemaSet& schemas, const Table& root,
                                        const std::string& key) {
  if (split_path(key).empty()) return {};
  if (schema_at(schemas, root, key) != nullptr) return {key};
  std::vector<std::string> matches;
  for (const std::string& path : declared_paths(schemas, root))
    if (path.ends_with("." + key)) matches.push_back(path);
  return matches;
}

std::string suggest_path(const SchemaSet& schemas, const Table& root, const std::string& key) {
  const std::vector<std::string> paths = declared_paths(schemas, root);
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(last_part(path));
  if (const auto near = nearest(key, paths)) return "did you mean '" + *near + "'?";
  const auto near = nearest(last_part(key), names);
  if (!near) return "";
  for (const std::string& path : paths)
    if (parent_path(path) == parent_path(key) && last_part(path) == *near)
      return "did you mean '" + path + "'?";
  return "did you mean '" + *near + "'?";
}

}  // namespace exprun
