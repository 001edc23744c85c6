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

bool is_usual(const DeriveInput& input, const TablePlace& place, const Entry& entry,
              const Schema& schema, const std::string& path) {
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
  const auto derived = derive(input, path, place.schema.type());
  return derived && toml_text(entry.value) == toml_text(Value(*derived, {}, {}));
}

}  // namespace

std::vector<Leaf> leaves_of(const SchemaSet& schemas, const Table& root, const std::string& file) {
  const Facts no_facts;
  const DeriveInput input{root, no_facts, file};
  std::vector<Leaf> leaves;
  Table copy = root;  // visiting needs a table that may change
  visit_tables(schemas, copy, [&](const TablePlace& place) {
    for (const Entry& entry : place.table.entries()) {
      const Schema* schema = place.schema.find(entry.key);
      if (schema == nullptr || entry.value.as<Table>() != nullptr) continue;
      Leaf leaf{join_path(place.path, entry.key),
                join_path(place.path, first_name(entry.key, *schema)), toml_text(entry.value)};
      leaf.identity = schema->value("x-identity", true);
      leaf.changed = !is_usual(input, place, entry, *schema, leaf.path);
      leaves.push_back(std::move(leaf));
    }
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
      if (derive({root, no_facts, file}, join_path(place.path, entry.key), place.schema.type()))
        continue;
      entry.value.data = std::string("auto");
    }
  });
  return root;
}

std::string hash_of(const std::vector<Leaf>& leaves) {
  std::vector<std::string> lines;
  for (const Leaf& leaf : leaves)
    if (leaf.identity && leaf.changed) lines.push_back(leaf.canonical + "=" + leaf.text + "\n");
  std::sort(lines.begin(), lines.end());
  std::string canonical;
  for (const std::string& line : lines) canonical += line;
  return hash_hex(canonical);
}

}  // namespace exprun
