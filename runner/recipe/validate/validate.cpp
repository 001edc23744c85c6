#include "recipe/validate/validate.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "recipe/key_path.h"
#include "recipe/table_schema.h"
#include "recipe/toml_quotes.h"
#include "recipe/validate/unknown_key.h"
#include "recipe/validate/validate_value.h"
#include "recipe/validate/wrong_type.h"

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
    const auto schema = TableSchema::of(schemas, *schemas.find(table), nullptr, table);
    diagnostics.push_back({{recipe.table.where.file, 1, 1, 1},
                           "the recipe needs a table [" + table + "]",
                           schema->description()});
  }
}

bool is_unknown_type(const SchemaSet& schemas, const TablePlace& place, const Entry& entry) {
  if (entry.key != "type" || place.schema.kind().empty()) return false;
  return schemas.find(place.schema.kind(), place.schema.type()) == nullptr;
}

// A key that stands above the tables of free names in which it belongs.
bool belongs_below(const SchemaSet& schemas, const TablePlace& place, const Entry& entry) {
  if (place.schema.declares(entry.key)) return false;
  const Schema& table = *place.schema.find(entry.key);
  const std::string kind = table.value("x-kind", "");
  const std::vector<std::string> types = schemas.types(kind);
  return declares_key(table, entry.key) || std::any_of(types.begin(), types.end(), [&](auto& type) {
           return declares_key(*schemas.find(kind, type), entry.key);
         });
}

// Whether a text that stands where a table must be is the name of a type for it.
bool is_type_of(const SchemaSet& schemas, const Schema& table, const Value& value) {
  const auto* text = value.as<std::string>();
  if (text == nullptr || !declares_key(table, "type")) return false;
  const Schema choices = table["properties"]["type"].value("enum", Schema::array());
  return schemas.find(table.value("x-kind", ""), *text) != nullptr ||
         std::find(choices.begin(), choices.end(), *text) != choices.end();
}

Diagnostic no_table(const SchemaSet& schemas, const TablePlace& place, const Entry& entry) {
  const Schema& schema = *place.schema.find(entry.key);
  Diagnostic diagnostic = wrong_type(entry.key, schema, entry.value);
  if (belongs_below(schemas, place, entry))
    diagnostic.help = "it belongs in a table with a name of its own: [" + place.path + ".NAME]";
  else if (is_type_of(schemas, schema, entry.value))
    diagnostic.help = "write " + entry.key + ".type = \"" + *entry.value.as<std::string>() + "\"";
  else
    diagnostic.help = "its keys stand below [" + join_path(place.path, entry.key) + "]";
  return diagnostic;
}

// `optimizer.lr = [1, 2]` where names are paths: to TOML that is a table.
Diagnostic path_without_quotes(const Schema& schema, const Entry& entry) {
  Diagnostic diagnostic = wrong_type(entry.key, schema, entry.value);
  diagnostic.where = entry.where;
  std::string path = join_path("", entry.key);
  for (const Table* table = entry.value.as<Table>(); table != nullptr && !table->entries().empty();
       table = table->entries().front().value.as<Table>())
    path = join_path(path, table->entries().front().key);
  diagnostic.help = "write " + toml_quoted(path) + " = [...]";
  return diagnostic;
}

void validate_entry(const SchemaSet& schemas, const TablePlace& place, const Entry& entry,
                    Diagnostics& diagnostics) {
  const Schema* schema = place.schema.find(entry.key);
  if (schema == nullptr)
    diagnostics.push_back(unknown_key(schemas, place, entry));
  else if (is_unknown_type(schemas, place, entry) && entry.value.as<std::string>() != nullptr)
    diagnostics.push_back(unknown_type(schemas, place.schema.kind(), entry.value));
  else if (is_table(*schema) && entry.value.as<Table>() == nullptr)
    diagnostics.push_back(no_table(schemas, place, entry));
  else if (!is_table(*schema) && !place.schema.declares(entry.key) &&
           entry.value.as<Table>() != nullptr)
    diagnostics.push_back(path_without_quotes(*schema, entry));
  else if (!is_table(*schema))  // a table is visited itself
    validate_value(entry.key, *schema, entry.value, diagnostics);
}

// [evaluation.valloss] without a type: the name itself is the mistake.
void report_unknown_name(const SchemaSet& schemas, const TablePlace& place,
                         Diagnostics& diagnostics) {
  const bool from_name = !place.schema.kind().empty() && !place.schema.type().empty() &&
                         place.table.find("type") == nullptr;
  if (!from_name || place.schema.knows_type() || place.is_refused) return;
  diagnostics.push_back(unknown_type(schemas, place.schema.kind(),
                                     Value(place.schema.type(), place.header, Origin::file)));
}

void validate_place(const SchemaSet& schemas, const TablePlace& place, const Tolerance& tolerance,
                    Diagnostics& diagnostics) {
  for (Entry& entry : place.table.entries()) {
    const size_t before = diagnostics.size();
    const Schema* names = place.schema.free_names();
    if (names != nullptr) validate_name(*names, entry, diagnostics);
    validate_entry(schemas, place, entry, diagnostics);
    tolerance.apply(diagnostics, before);
    entry.value.refused = has_errors({diagnostics.begin() + before, diagnostics.end()});
  }
  if (place.path.empty()) return report_missing_tables(schemas, place, diagnostics);
  report_missing(place, diagnostics);
  report_unknown_name(schemas, place, diagnostics);
}

}  // namespace

void validate(const SchemaSet& schemas, Table& root, Diagnostics& diagnostics,
              const Tolerance& tolerance) {
  visit_tables(schemas, root, [&](const TablePlace& place) {
    validate_place(schemas, place, tolerance, diagnostics);
  });
}

void validate_table(const SchemaSet& schemas, Table& root, const std::string& name,
                    Diagnostics& diagnostics) {
  visit_tables(schemas, root, [&](const TablePlace& place) {
    const Entry* entry = place.path.empty() ? place.table.entry(name) : nullptr;
    if (entry != nullptr) validate_entry(schemas, place, *entry, diagnostics);
    if (place.path == name || place.path.starts_with(name + "."))
      validate_place(schemas, place, {}, diagnostics);
  });
}

}  // namespace exprun
