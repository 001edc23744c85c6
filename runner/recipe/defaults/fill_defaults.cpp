#include "recipe/defaults/fill_defaults.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/period.h"
#include "recipe/defaults/auto_values.h"
#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/schema/table_schema.h"
#include "recipe/schema/validate_value.h"

namespace exprun {
namespace {

void normalize_all(const TablePlace& place) {
  for (Entry& entry : place.table.entries())
    if (const Schema* schema = place.schema.find(entry.key))
      entry.value = normalized(*schema, std::move(entry.value));
}

bool always_there(const std::string& path, const std::string& key, const Schema& schema) {
  return is_table(schema) && path.empty() && key != "sweep";
}

void add_defaults(const TablePlace& place) {
  const auto& keys = place.schema.keys();
  place.table.entries().reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto& [key, schema] = keys[i];
    if (place.table.find(key) != nullptr || !place.schema.is_certain(i)) continue;
    const auto add = [&, &key = key](Value value) {
      place.table.entries().push_back({key, {}, std::move(value)});
    };
    const auto usual = schema->find("default");
    if (always_there(place.path, key, *schema))
      add(Value(Table(), {}, Origin::default_value));
    else if (usual != schema->end())
      add(value_of_json(*usual, Origin::default_value));
    else if (key == "type" && place.schema.knows_type())
      add(Value(place.schema.type(), {}, Origin::default_value));
  }
}

// The schema's order; free names keep theirs, after those.
void reorder(const TablePlace& place) {
  const auto& keys = place.schema.keys();
  auto& entries = place.table.entries();
  std::vector<std::pair<std::ptrdiff_t, size_t>> order;  // in the schema, and here
  order.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [&](const auto& key) { return key.first == entries[i].key; });
    order.emplace_back(found - keys.begin(), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Entry> ordered;
  ordered.reserve(entries.size());
  for (const auto& [rank, number] : order) ordered.push_back(std::move(entries[number]));
  entries = std::move(ordered);
}

bool measures_val_loss(const Table& evaluation) {
  return std::any_of(evaluation.entries().begin(), evaluation.entries().end(), [](const Entry& e) {
    const Table* table = e.value.as<Table>();
    const Value* type = table == nullptr ? nullptr : table->find("type");
    const auto* name = type == nullptr ? nullptr : type->as<std::string>();
    return (name == nullptr ? e.key : *name) == "val_loss";
  });
}

bool wants_val_loss(const Table& root) {
  const Value* wanted = find_path(root, "metrics.val_loss");
  return wanted == nullptr || wanted->as<bool>() == nullptr || *wanted->as<bool>();
}

// Other evaluations do not replace it: sweeps compare by it.
void add_default_evaluation(Table& root) {
  if (!wants_val_loss(root) || !has_validation(root)) return;
  if (root.find("evaluation") == nullptr)
    root.set("evaluation", {}, Value(Table(), {}, Origin::derived));
  Table* const evaluation = root.find("evaluation")->as<Table>();
  if (evaluation == nullptr || measures_val_loss(*evaluation)) return;
  evaluation->set("val_loss", {}, Value(Table(), {}, Origin::derived));
}

void derive_all(const SchemaSet& schemas, Table& root, const DeriveInput& input) {
  visit_tables(schemas, root, [&](const TablePlace& place) {
    for (Entry& entry : place.table.entries()) {
      if (!is_auto(entry.value)) continue;
      const Schema* schema = place.schema.find(entry.key);
      if (schema == nullptr || !may_be_auto(*schema)) continue;
      auto data = derive(input, join_path(place.path, entry.key), place.schema.type());
      if (!data) continue;
      entry.value.data = std::move(*data);
      entry.value.origin = Origin::derived;
    }
  });
}

}  // namespace

Value normalized(const Schema& schema, Value value) {
  if (const auto* integer = value.as<int64_t>())
    if (!allows_type(schema, "integer") && allows_type(schema, "number"))
      value.data = static_cast<double>(*integer);
  if (auto* text = value.as<std::string>(); text != nullptr && schema.contains("x-period"))
    if (const auto period = parse_period(*text)) *text = to_string(*period);
  if (auto* array = value.as<Array>(); array != nullptr && schema.contains("items"))
    for (Value& element : *array) element = normalized(schema["items"], std::move(element));
  return value;
}

void fill_defaults(const SchemaSet& schemas, Table& root, const DatasetInfo& dataset_info,
                   const std::string& file) {
  add_default_evaluation(root);
  visit_tables(schemas, root, [](const TablePlace& place) {
    add_defaults(place);
    normalize_all(place);
    reorder(place);
  });
  derive_all(schemas, root, {schemas, root, dataset_info, file});
}

}  // namespace exprun
