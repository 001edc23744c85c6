#include "recipe/validate.h"

#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "recipe/table_schema.h"
#include "recipe/unknown_key.h"
#include "recipe/validate_value.h"

namespace exprun {
namespace {

std::string title(const TablePlace& place) {
  return "[" + place.path + "]";
}

std::string description_of(const TablePlace& place, const std::string& key) {
  const Schema* schema = place.schema.find(key);
  if (schema == nullptr) return "";
  const std::string unit = schema->value("x-unit", "");
  return schema->value("description", "") + (unit.empty() ? "" : " (" + unit + ")");
}

void report_missing(const TablePlace& place, Diagnostics& diagnostics) {
  for (const std::string& key : place.schema.required())
    if (place.table.find(key) == nullptr)
      diagnostics.push_back(
          {place.header, title(place) + " needs '" + key + "'", description_of(place, key)});
}

// A misspelt header is reported as that.
bool is_misspelt(const TablePlace& recipe, const std::string& table) {
  const std::vector<std::string> names = recipe.schema.names();
  for (const Entry& entry : recipe.table.entries())
    if (recipe.schema.find(entry.key) == nullptr && nearest(entry.key, names) == table) return true;
  return false;
}

void report_missing_tables(const SchemaSet& schemas, const TablePlace& recipe,
                           Diagnostics& diagnostics) {
  for (const std::string table : kNeededTables) {
    if (recipe.table.find(table) != nullptr || is_misspelt(recipe, table)) continue;
    const TableSchema schema(schemas, *schemas.find(table), nullptr, table);
    diagnostics.push_back({{recipe.table.where.file, 1, 1, 1},
                           "the recipe needs a table [" + table + "]",
                           schema.description()});
  }
}

bool is_unknown_type(const SchemaSet& schemas, const TablePlace& place, const Entry& entry) {
  if (entry.key != "type" || place.schema.kind().empty()) return false;
  return schemas.find(place.schema.kind(), place.schema.type()) == nullptr;
}

void validate_entry(const SchemaSet& schemas, const TablePlace& place, const Entry& entry,
                    Diagnostics& diagnostics) {
  const Schema* schema = place.schema.find(entry.key);
  if (schema == nullptr)
    diagnostics.push_back(unknown_key(schemas, place, entry));
  else if (is_unknown_type(schemas, place, entry) && entry.value.as<std::string>() != nullptr)
    diagnostics.push_back(unknown_type(schemas, place.schema.kind(), entry.value));
  else if (!is_table(*schema) || entry.value.as<Table>() == nullptr)  // a table is visited itself
    validate_value(entry.key, *schema, entry.value, diagnostics);
}

// [evaluation.valloss] without a type: the name itself is the mistake.
void report_unknown_name(const SchemaSet& schemas, const TablePlace& place,
                         Diagnostics& diagnostics) {
  const bool from_name = !place.schema.kind().empty() && !place.schema.type().empty() &&
                         place.table.find("type") == nullptr;
  if (!from_name || place.schema.knows_type()) return;
  diagnostics.push_back(unknown_type(schemas, place.schema.kind(),
                                     Value(place.schema.type(), place.header, Origin::file)));
}

void validate_place(const SchemaSet& schemas, const TablePlace& place, Diagnostics& diagnostics) {
  for (const Entry& entry : place.table.entries())
    validate_entry(schemas, place, entry, diagnostics);
  if (place.path.empty()) return report_missing_tables(schemas, place, diagnostics);
  report_missing(place, diagnostics);
  report_unknown_name(schemas, place, diagnostics);
}

}  // namespace

void validate(const SchemaSet& schemas, Table& root, Diagnostics& diagnostics) {
  visit_tables(schemas, root,
               [&](const TablePlace& place) { validate_place(schemas, place, diagnostics); });
}

void validate_table(const SchemaSet& schemas, Table& root, const std::string& name,
                    Diagnostics& diagnostics) {
  visit_tables(schemas, root, [&](const TablePlace& place) {
    if (place.path == name || place.path.starts_with(name + "."))
      validate_place(schemas, place, diagnostics);
  });
}

}  // namespace exprun
