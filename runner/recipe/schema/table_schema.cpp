#include "recipe/schema/table_schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "recipe/key_path.h"

namespace exprun {
namespace {

const Schema* member(const Schema& node, const char* key) {
  const auto found = node.find(key);
  return found == node.end() ? nullptr : &*found;
}

std::string text(const Schema& node, const char* key) {
  const Schema* value = member(node, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::string default_type(const Schema& node) {
  const Schema* properties = member(node, "properties");
  const Schema* type = properties == nullptr ? nullptr : member(*properties, "type");
  return type == nullptr ? "" : text(*type, "default");
}

// Which component a table picks; empty if its kind has none, or the `type` is no text.
std::string type_of(const Schema& node, const Table* table, std::string_view name) {
  if (!node.contains("x-kind")) return "";
  const Value* written = table == nullptr ? nullptr : table->find("type");
  if (written == nullptr)
    return node.contains("x-type-from-name") ? std::string(name) : default_type(node);
  const auto* value = written->as<std::string>();
  return value == nullptr ? "" : *value;
}

void visit(const SchemaSet& schemas, const TablePlace& place,
           const std::function<void(const TablePlace&)>& visitor) {
  visitor(place);
  for (Entry& entry : place.table.entries()) {
    Table* table = entry.value.as<Table>();
    const Schema* node = place.schema.find(entry.key);
    if (table == nullptr || node == nullptr || !is_table(*node)) continue;
    const auto schema = TableSchema::of(schemas, *node, table, entry.key);
    visit(schemas,
          {join_path(place.path, entry.key), entry.where, *table, *schema, entry.value.is_invalid},
          visitor);
  }
}

}  // namespace

bool is_table(const Schema& schema) {
  const Schema* type = member(schema, "type");
  return type != nullptr && type->is_string() && type->get_ref<const std::string&>() == "object";
}

bool declares_key(const Schema& schema, const std::string& key) {
  const Schema* properties = member(schema, "properties");
  return properties != nullptr && properties->contains(key);
}

bool requires_key(const Schema& schema, const std::string& key) {
  const Schema* required = member(schema, "required");
  return required != nullptr &&
         std::find(required->begin(), required->end(), key) != required->end();
}

TableSchemas::Made TableSchemas::of(const Schema* node, std::string_view name_or_type,
                                    const std::function<Made()>& make) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Made& known = known_[{node, std::string(name_or_type)}];
  if (known == nullptr) known = make();
  return known;
}

std::shared_ptr<const TableSchema> TableSchema::of_recipe(const SchemaSet& schemas) {
  return schemas.tables().of(nullptr, "",
                             [&] { return TableSchemas::Made(new TableSchema(schemas)); });
}

std::shared_ptr<const TableSchema> TableSchema::of(const SchemaSet& schemas, const Schema& node,
                                                   const Table* table, std::string_view name) {
  const std::string kind = text(node, "x-kind"), type = type_of(node, table, name);
  const auto make = [&] { return TableSchemas::Made(new TableSchema(schemas, node, type, name)); };
  if (kind.empty()) return schemas.tables().of(&node, name, make);
  // Of what is no type there is no end.
  if (schemas.find(kind, type) == nullptr) return make();
  return schemas.tables().of(&node, type, make);
}

TableSchema::TableSchema(const SchemaSet& schemas) {
  for (const char* table : kTables)
    if (const Schema* node = schemas.find(table)) keys_.emplace_back(table, node);
  certain_ = keys_.size();
}

TableSchema::TableSchema(const SchemaSet& schemas, const Schema& node, std::string_view type,
                         std::string_view name)
    : description_(text(node, "description")),
      kind_(text(node, "x-kind")),
      type_(type),
      file_(std::string(name) + ".schema.json") {
  add_node(node, true);
  certain_ = keys_.size();
  const Schema* free = member(node, "additionalProperties");
  if (free != nullptr && free->is_object()) free_ = free;
  free_names_ = member(node, "propertyNames");
  if (!kind_.empty()) add_component(schemas);
}

void TableSchema::add_node(const Schema& node, bool with_required) {
  if (const Schema* properties = member(node, "properties")) {
    const size_t before = keys_.size();  // a schema has each key once
    keys_.reserve(before + properties->size());
    for (const auto& [key, schema] : properties->items())
      if (before == 0 || find(key) == nullptr) keys_.emplace_back(key, &schema);
  }
  const Schema* required = member(node, "required");
  if (required == nullptr || !with_required) return;
  for (const Schema& key : *required) required_.push_back(key.get<std::string>());
}

void TableSchema::add_component(const SchemaSet& schemas) {
  if (const Schema* component = schemas.find(kind_, type_)) {
    knows_type_ = true;
    file_ = kind_ + "/" + type_ + ".schema.json";
    add_node(*component, true);
    certain_ = keys_.size();
    return;
  }
  // Without a valid type every key of the kind is accepted: one mistake is reported once.
  for (const std::string& type : schemas.types(kind_)) add_node(*schemas.find(kind_, type), false);
}

const Schema* TableSchema::find(std::string_view key) const {
  for (const auto& [name, schema] : keys_)
    if (name == key) return schema;
  return free_;
}

bool TableSchema::declares(std::string_view key) const {
  return std::any_of(keys_.begin(), keys_.end(),
                     [&](const auto& named) { return named.first == key; });
}

std::vector<std::string> TableSchema::names() const {
  std::vector<std::string> names;
  for (const auto& [name, schema] : keys_) names.push_back(name);
  return names;
}

void visit_tables(const SchemaSet& schemas, Table& root,
                  const std::function<void(const TablePlace&)>& visitor) {
  visit(schemas, {"", root.where, root, *TableSchema::of_recipe(schemas)}, visitor);
}

}  // namespace exprun
