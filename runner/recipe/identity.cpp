#include "recipe/identity.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "recipe/complete.h"
#include "recipe/emit.h"
#include "recipe/key_path.h"
#include "recipe/renamed.h"
#include "recipe/table_schema.h"
#include "recipe/validate/validate_value.h"
#include "recipe/value_json.h"

namespace exprun {
namespace {

// A key of a recipe that is no table.
struct LeafPlace {
  const DeriveInput& input;
  const TablePlace& table;
  const Entry& entry;
  const Schema& schema;
};

void visit_leaves(const SchemaSet& schemas, Table& root, const std::string& file,
                  const std::function<void(const LeafPlace&)>& visit) {
  const Facts no_facts;
  const DeriveInput input{schemas, root, no_facts, file};
  visit_tables(schemas, root, [&](const TablePlace& place) {
    for (const Entry& entry : place.table.entries())
      if (const Schema* schema = place.schema.find(entry.key);
          schema != nullptr && entry.value.as<Table>() == nullptr)
        visit({input, place, entry, *schema});
  });
}

bool is_identity(const LeafPlace& place) {
  return place.schema.value("x-identity", true);
}

bool is_usual(const LeafPlace& leaf) {
  const auto& [input, place, entry, schema] = leaf;
  // A named component of a table is there because its type is written or is its name.
  const bool names_component = entry.key == "type" && !place.schema.kind().empty();
  if (names_component && !parent_path(place.path).empty()) return false;
  if (entry.value.origin == Origin::derived || entry.value.origin == Origin::default_value)
    return true;
  const auto usual = schema.find("default");
  if (usual == schema.end()) return false;
  if (!may_be_auto(schema))
    return toml_text(entry.value) == toml_text(normalized(schema, value_of_json(*usual, {})));
  if (is_auto(entry.value)) return true;
  const auto derived = derive(input, join_path(place.path, entry.key), place.schema.type());
  return derived && toml_text(entry.value) == toml_text(Value(*derived, {}, {}));
}

Leaf leaf_at(const LeafPlace& place) {
  const std::string& table = place.table.path;
  return {join_path(table, place.entry.key),
          join_path(table, first_name(place.entry.key, place.schema)),
          toml_text(place.entry.value)};
}

}  // namespace

std::vector<Leaf> leaves_of(const SchemaSet& schemas, const Table& root, const std::string& file) {
  std::vector<Leaf> leaves;
  Table copy = root;  // visiting needs a table that may change
  visit_leaves(schemas, copy, file, [&](const LeafPlace& place) {
    Leaf leaf = leaf_at(place);
    leaf.identity = is_identity(place);
    leaf.changed = !is_usual(place);
    leaves.push_back(std::move(leaf));
  });
  return leaves;
}

Table without_facts(const SchemaSet& schemas, Table root, const std::string& file) {
  const Facts no_facts;
  visit_tables(schemas, root, [&](const TablePlace& place) {
    for (Entry& entry : place.table.entries()) {
      const Schema* schema = place.schema.find(entry.key);
      if (entry.value.origin != Origin::derived || schema == nullptr || !may_be_auto(*schema))
        continue;
      if (derive({schemas, root, no_facts, file}, join_path(place.path, entry.key),
                 place.schema.type()))
        continue;
      entry.value.data = std::string("auto");
    }
  });
  return root;
}

std::string hash_of(const SchemaSet& schemas, Table& root, const std::string& file) {
  std::vector<std::string> lines;
  visit_leaves(schemas, root, file, [&](const LeafPlace& place) {
    if (is_usual(place) || !is_identity(place)) return;
    const Leaf leaf = leaf_at(place);
    lines.push_back(leaf.canonical + "=" + leaf.text + "\n");
  });
  std::sort(lines.begin(), lines.end());
  std::string canonical;
  for (const std::string& line : lines) canonical += line;
  return hash_hex(canonical);
}

}  // namespace exprun
