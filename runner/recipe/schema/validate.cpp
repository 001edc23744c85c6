#include "recipe/schema/validate.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "base/suggest.h"
#include "recipe/key_path.h"
#include "recipe/merge.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/schema/key_synonyms.h"
#include "recipe/schema/table_schema.h"
#include "recipe/schema/unknown_key.h"
#include "recipe/schema/validate_value.h"
#include "recipe/schema/wrong_type.h"
#include "recipe/toml/write.h"

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

// What is there under another name, or misspelt, is reported as that, and not as missing too.
bool is_meant(const TablePlace& place, const std::string& key) {
  const std::vector<std::string> names = place.schema.names();
  const std::string path = join_path(place.path, key);
  const auto means_it = [&](const Entry& entry) {
    if (place.schema.find(entry.key) != nullptr) return false;
    if (const auto table = table_synonym(entry.key); table && place.path.empty())
      return *table == key;
    const KeySynonym* synonym = key_synonym(entry.key);
    return synonym ? synonym->path == path : nearest(entry.key, names) == key;
  };
  const auto& entries = place.table.entries();
  return std::any_of(entries.begin(), entries.end(), means_it);
}

// At the override that chose a type, or removed the key: the recipe is sound without it.
SourceSpan place_of_missing(const TablePlace& place, const std::string& key) {
  if (const auto removed = place.table.removed_at(key)) return *removed;
  const Value* type = place.table.find("type");
  const bool is_overridden = type != nullptr && type->origin == Origin::command_line;
  return is_overridden && type->where ? type->where : place.header;
}

void report_missing(const SchemaSet& schemas, const TablePlace& place, Diagnostics& diagnostics) {
  for (const std::string& key : place.schema.required()) {
    if (place.table.find(key) != nullptr || is_meant(place, key)) continue;
    const std::string& kind = place.schema.kind();
    const std::string choices =
        key == "type" && !kind.empty() ? ": " + types_to_choose(schemas, kind) : "";
    diagnostics.push_back({place_of_missing(place, key), title(place) + " needs '" + key + "'",
                           description_of(place, key) + choices});
  }
}

void report_missing_tables(const SchemaSet& schemas, const TablePlace& recipe,
                           Diagnostics& diagnostics) {
  for (const std::string table : kNeededTables) {
    if (recipe.table.find(table) != nullptr || is_meant(recipe, table)) continue;
    const auto schema = TableSchema::of(schemas, *schemas.find(table), nullptr, table);
    const std::string article = table == "optimizer" ? "an" : "a";
    const SourceSpan start{recipe.table.where.file, 1, 1, 1};
    diagnostics.push_back({recipe.table.removed_at(table).value_or(start),
                           "the recipe needs " + article + " [" + table + "] table",
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

// [evaluation.NAME] would be of no type.
bool names_unknown_type(const SchemaSet& schemas, const TablePlace& place,
                        const std::string& name) {
  if (place.schema.declares(name)) return false;
  const Schema& table = *place.schema.find(name);
  return table.contains("x-type-from-name") &&
         schemas.find(table.value("x-kind", ""), name) == nullptr;
}

// "optimizer.lr" of the line "optimizer.lr = 1e-3", from the entry's place on; empty for a header,
// and for a key that is written in one part.
std::string dotted_key_at(const Entry& entry) {
  if (!entry.where) return "";
  std::string_view line = entry.where.file->text;
  for (uint32_t number = 1; number < entry.where.line; ++number)
    line.remove_prefix(std::min(line.find('\n'), line.size() - 1) + 1);
  line = line.substr(0, line.find('\n'));
  const std::string_view key = trimmed(line.substr(0, line.find('=')));
  return key.starts_with(entry.key + ".") ? std::string(key) : "";
}

// The path of a key from the top of the recipe that stands below a header, so that it is none.
// Empty for what is a key there, or anything else.
std::string path_below_header(const SchemaSet& schemas, const TablePlace& place,
                              const Entry& entry) {
  const Table* const table = entry.value.as<Table>();
  if (table == nullptr || place.path.empty() || place.schema.declares(entry.key)) return "";
  const bool is_named =
      place.schema.find(entry.key) != nullptr &&
      (table->find("type") != nullptr || !names_unknown_type(schemas, place, entry.key));
  const bool is_on_top = TableSchema::of_recipe(schemas)->declares(entry.key);
  return is_on_top && !is_named ? dotted_key_at(entry) : "";
}

// Where the key belongs: above all headers, below its own, or either if the recipe has none yet.
std::string right_place(const Table& root, const std::string& path) {
  const std::string above = "move it above the first header";
  const std::string below = "write " + last_part(path) + " = ... below [" + parent_path(path) + "]";
  const Entry* const table = root.entry(path.substr(0, path.find('.')));
  if (table == nullptr) return above + ", or " + below;
  return dotted_key_at(*table).empty() ? below : above;
}

Diagnostic below_header(const Table& root, const TablePlace& place, const Entry& entry,
                        const std::string& path) {
  SourceSpan where = entry.where;
  where.length = static_cast<uint32_t>(path.size());
  const bool is_same_file = place.header.file == where.file;
  const std::string line = is_same_file ? " (line " + std::to_string(place.header.line) + ")" : "";
  const std::string own = place.path + ".";
  return {where,
          quoted(path) + " stands below " + title(place) + line + ", so it means " + own + path,
          path.starts_with(own) ? "write " + path.substr(own.size()) + " = ..."
                                : right_place(root, path)};
}

Diagnostic no_table(const SchemaSet& schemas, const TablePlace& place, const Entry& entry) {
  const Schema& schema = *place.schema.find(entry.key);
  const std::string path = join_path(place.path, entry.key);
  const auto* text = entry.value.as<std::string>();
  const auto meant = text ? meant_key(schemas, path, schema, *text) : std::nullopt;
  const std::vector<std::string> types = schemas.types(schema.value("x-kind", ""));
  const KeySynonym* synonym = place.schema.declares(entry.key) ? nullptr : key_synonym(entry.key);
  Diagnostic diagnostic = wrong_type(entry.key, schema, entry.value);
  if (belongs_below(schemas, place, entry))
    diagnostic.help = "it belongs in a table with its own name: [" + place.path + ".NAME]";
  else if (synonym)
    diagnostic.help = help_for_synonym(*synonym, place.path);
  else if (says_none(entry.value) && is_optional_table(schemas, {}, path))
    diagnostic.help = help_without_table(path);
  else if (meant)
    diagnostic.help = "write " + entry.key + "." + meant->key + " = \"" + meant->value + "\"";
  else if (names_unknown_type(schemas, place, entry.key))
    diagnostic.help = "[" + place.path + "] has tables, such as [" + place.path + "." +
                      choice_meant(entry.key, types).value_or(types.back()) + "]";
  else
    diagnostic.help = "write its keys below [" + path + "]";
  return diagnostic;
}

// W&B's distributions "log_uniform_values", "q_log_uniform_values", "log_uniform".
bool asks_for_log_scale(const Table& axis) {
  const Value* const distribution = axis.find("distribution");
  const auto* name = distribution ? distribution->as<std::string>() : nullptr;
  return name != nullptr && name->find("log") != std::string::npos;
}

// The values of an axis as W&B writes them: `lr = { values = [1, 2] }`, `lr = { min = 1, max = 2
// }`. Empty for another table.
std::string as_values(const std::string& key, const Table& axis) {
  const auto text_of = [&](const char* name) {
    const Value* const value = axis.find(name);
    return value == nullptr || value->as<Table>() != nullptr ? "" : toml_text(*value);
  };
  const std::string name = "write " + join_path("", key) + " = ";
  if (const std::string values = text_of("values"); !values.empty()) return name + values;
  if (const std::string value = text_of("value"); !value.empty()) return name + '[' + value + ']';
  const std::string low = text_of("min"), high = text_of("max");
  if (low.empty() || high.empty()) return "";
  const std::string log = "\"log:" + low + ".." + high + '"';
  if (!asks_for_log_scale(axis))
    return name + "\"interval(" + low + ',' + high + ")\", or " + log + " for a logarithmic scale";
  if (low.starts_with('-'))  // those of log_uniform
    return name + "\"log:low..high\" with the ends themselves, not their exponents";
  return name + log;
}

// `optimizer.lr = [1, 2]` where names are paths: to TOML that is a table.
Diagnostic path_without_quotes(const Schema& schema, const Entry& entry) {
  Diagnostic diagnostic = wrong_type(entry.key, schema, entry.value);
  diagnostic.where = entry.where;
  diagnostic.help = as_values(entry.key, *entry.value.as<Table>());
  if (!diagnostic.help.empty()) return diagnostic;
  std::string path = join_path("", entry.key);
  for (const Table* table = entry.value.as<Table>(); table != nullptr && !table->entries().empty();
       table = table->entries().front().value.as<Table>())
    path = join_path(path, table->entries().front().key);
  diagnostic.help = "write " + toml_quoted(path) + " = [...]";
  return diagnostic;
}

// Of a key that is a choice beside one that is a length, as wsd's decay and decay_length: the wrong
// value may be meant for the other.
void name_length(const TablePlace& place, const std::string& key, Diagnostic& wrong) {
  const std::string length = key + "_length";
  if (!place.schema.find(key)->contains("enum") || !place.schema.find(length)) return;
  if (!wrong.help.ends_with('?'))
    wrong.help += (wrong.help.empty() ? "'" : "; '") + length + "' sets its length";
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
  else if (!is_table(*schema)) {  // a table is visited itself
    const size_t before = diagnostics.size();
    validate_value(entry.key, *schema, entry.value, diagnostics);
    if (diagnostics.size() > before) name_length(place, entry.key, diagnostics.back());
  }
}

// [evaluation.valloss] without a type: the name itself is the mistake.
void report_unknown_name(const SchemaSet& schemas, const TablePlace& place,
                         Diagnostics& diagnostics) {
  const bool from_name = !place.schema.kind().empty() && !place.schema.type().empty() &&
                         place.table.find("type") == nullptr;
  if (!from_name || place.schema.knows_type() || place.is_invalid) return;
  diagnostics.push_back(unknown_type(schemas, place.schema.kind(),
                                     Value(place.schema.type(), place.header, Origin::file)));
}

void validate_place(const SchemaSet& schemas, const TablePlace& place, Diagnostics& diagnostics) {
  for (Entry& entry : place.table.entries()) {
    const size_t before = diagnostics.size();
    const Schema* names = place.schema.free_names();
    if (names != nullptr) validate_name(*names, entry, diagnostics);
    validate_entry(schemas, place, entry, diagnostics);
    entry.value.is_invalid = has_errors({diagnostics.begin() + before, diagnostics.end()});
  }
  if (place.path.empty()) return report_missing_tables(schemas, place, diagnostics);
  report_missing(schemas, place, diagnostics);
  report_unknown_name(schemas, place, diagnostics);
}

// From then on they stand where they are meant to: nothing else is missing, and what is wrong in
// them is found.
void take_from_below_headers(const SchemaSet& schemas, Table& root, Diagnostics& diagnostics) {
  std::vector<Table> meant;
  visit_tables(schemas, root, [&](const TablePlace& place) {
    auto& entries = place.table.entries();
    for (auto entry = entries.begin(); entry != entries.end();) {
      const std::string path = path_below_header(schemas, place, *entry);
      if (path.empty()) {
        ++entry;
        continue;
      }
      diagnostics.push_back(below_header(root, place, *entry, path));
      meant.emplace_back().set(entry->key, entry->where, std::move(entry->value));
      entry = entries.erase(entry);
    }
  });
  for (Table& table : meant) merge(schemas, root, std::move(table), diagnostics);
}

}  // namespace

void validate(const SchemaSet& schemas, Table& root, Diagnostics& diagnostics) {
  take_from_below_headers(schemas, root, diagnostics);
  visit_tables(schemas, root,
               [&](const TablePlace& place) { validate_place(schemas, place, diagnostics); });
}

void validate_table(const SchemaSet& schemas, Table& root, const std::string& name,
                    Diagnostics& diagnostics) {
  visit_tables(schemas, root, [&](const TablePlace& place) {
    const Entry* entry = place.path.empty() ? place.table.entry(name) : nullptr;
    if (entry != nullptr) validate_entry(schemas, place, *entry, diagnostics);
    if (place.path == name || place.path.starts_with(name + "."))
      validate_place(schemas, place, diagnostics);
  });
}

}  // namespace exprun
