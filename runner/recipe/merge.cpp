#include "recipe/merge.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "recipe/recipe_text.h"
#include "recipe/schema/table_schema.h"

namespace exprun {
namespace {

// A child that says one of two keys, of which only one may be given, means it instead of the other.
void take_places(const TableSchema& schema, Table& base, const Table& child) {
  for (const Entry& entry : child.entries()) {
    const Schema* node = schema.find(entry.key);
    if (node == nullptr || !node->contains("x-instead-of")) continue;
    const std::string other = (*node)["x-instead-of"].get<std::string>();
    if (child.find(other) == nullptr) base.erase(other);
  }
}

// Removes from the table called `name` what belongs to its present type and not to `new_type`.
void leave_type(const SchemaSet& schemas, const Schema& node, Table& table, const std::string& name,
                const Value& new_type, Diagnostics& diagnostics) {
  const auto now = TableSchema::of(schemas, node, &table, name);
  const auto* type = new_type.as<std::string>();
  if (type == nullptr || now->type() == *type) return;
  const Schema* old_component = schemas.find(now->kind(), now->type());
  const Schema* new_component = schemas.find(now->kind(), *type);
  if (old_component == nullptr || new_component == nullptr) return;
  for (const std::string& key : table.keys()) {
    if (!declares_key(*old_component, key) || declares_key(*new_component, key)) continue;
    diagnostics.push_back(
        {table.entry(key)->where,
         "'" + key + "' is not a key of " + now->kind() + " \"" + *type + "\" and is ignored",
         "it was set for \"" + now->type() + "\"",
         {},
         Severity::warning});
    table.erase(key);
  }
}

// `schema` is null below a table that no schema knows: it merges all the same and is checked later.
void merge_table(const SchemaSet& schemas, const TableSchema* schema, Table& base, Table child,
                 Diagnostics& diagnostics) {
  if (child.where) base.where = child.where;
  if (base.entries().empty()) {  // each for itself would be looked for in vain
    base.entries() = std::move(child.entries());
    return;
  }
  if (schema != nullptr) take_places(*schema, base, child);
  for (Entry& entry : child.entries()) {
    Table* into = base.find(entry.key) == nullptr ? nullptr : base.find(entry.key)->as<Table>();
    Table* from = entry.value.as<Table>();
    if (into == nullptr || from == nullptr) {
      base.set(std::move(entry.key), std::move(entry.where), std::move(entry.value));
      continue;
    }
    const Schema* node = schema == nullptr ? nullptr : schema->find(entry.key);
    if (node != nullptr && from->find("type") != nullptr)
      leave_type(schemas, *node, *into, entry.key, *from->find("type"), diagnostics);
    std::shared_ptr<const TableSchema> inner;
    if (node != nullptr && is_table(*node))
      inner = TableSchema::of(schemas, *node, into, entry.key);
    const bool has_header = static_cast<bool>(from->where);
    merge_table(schemas, inner.get(), *into, std::move(*from), diagnostics);
    if (has_header) base.entry(entry.key)->where = entry.where;
  }
}

}  // namespace

void merge(const SchemaSet& schemas, Table& base, Table child, Diagnostics& diagnostics) {
  merge_table(schemas, TableSchema::of_recipe(schemas).get(), base, std::move(child), diagnostics);
}

Extended extend_files(const RecipeText& text, const SchemaSet& schemas) {
  Extended extended;
  std::vector<LoadedFile> files;
  for (const auto& file : text.files) {
    auto loaded = load_file(file, extended.diagnostics);
    if (!loaded) throw RecipeError(extended.diagnostics);
    files.push_back(std::move(*loaded));
  }
  extended.extended_from.push_back({});
  for (const LoadedFile& file : files) extended.extended_from.push_back(file.extends_where);
  for (auto file = files.rbegin(); file != files.rend(); ++file)
    merge(schemas, extended.root, std::move(file->root), extended.diagnostics);
  if (!extended.root.where) extended.root.where.file = text.files.front();
  return extended;
}

void add_chains(const RecipeText& text, const Extended& extended, Diagnostics& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics)
    for (size_t i = 1; i < text.files.size(); ++i)
      if (diagnostic.where.file == text.files[i] && diagnostic.also.empty())
        for (size_t child = i; child >= 1; --child)
          diagnostic.also.push_back(extended.extended_from[child]);
}

}  // namespace exprun
