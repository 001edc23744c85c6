#include "recipe/resolved.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/hash.h"
#include "recipe/defaults/auto_values.h"
#include "recipe/defaults/fill_defaults.h"
#include "recipe/key_path.h"
#include "recipe/merge.h"
#include "recipe/overrides.h"
#include "recipe/recipe_text.h"
#include "recipe/rules/rules.h"
#include "recipe/schema/table_schema.h"
#include "recipe/schema/validate.h"
#include "recipe/schema/validate_value.h"
#include "recipe/toml/write.h"
#include "recipe/value.h"

namespace exprun {
namespace {

// What of a completed recipe identifies the configuration: all but the keys with x-identity = false
// (schemas/README.md).
struct Leaf {
  std::string path;
  std::string text;      // as TOML
  bool identity = true;  // not marked x-identity: false
  bool changed = true;   // neither at its default nor at its derived value
};

// A key of a recipe that is no table.
struct LeafPlace {
  const DeriveInput& input;
  const TablePlace& table;
  const Entry& entry;
  const Schema& schema;
};

void visit_leaves(const SchemaSet& schemas, Table& root, const std::string& file,
                  const std::function<void(const LeafPlace&)>& visit) {
  const DatasetInfo no_dataset_info;
  const DeriveInput input{schemas, root, no_dataset_info, file};
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

bool equals_default(const Schema& schema, const nlohmann::ordered_json& written,
                    const Value& value) {
  return toml_text(value) == toml_text(normalized(schema, value_of_json(written, {})));
}

bool is_default_or_derived(const LeafPlace& leaf) {
  const auto& [input, place, entry, schema] = leaf;
  // A named component of a table is there because its type is written or is its name.
  const bool names_component = entry.key == "type" && !place.schema.kind().empty();
  if (names_component && !parent_path(place.path).empty()) return false;
  // As it was when the recipes of older runs were hashed.
  const auto former = schema.find("x-former-default");
  if (former != schema.end() && !is_auto(entry.value))
    return equals_default(schema, *former, entry.value);
  if (entry.value.origin == Origin::derived || entry.value.origin == Origin::default_value)
    return true;
  const auto usual = schema.find("default");
  if (usual == schema.end()) return false;
  if (!may_be_auto(schema)) return equals_default(schema, *usual, entry.value);
  if (is_auto(entry.value)) return true;
  const auto derived = derive(input, join_path(place.path, entry.key), place.schema.type());
  return derived && toml_text(entry.value) == toml_text(Value(*derived, {}, {}));
}

Leaf leaf_at(const LeafPlace& place) {
  return {join_path(place.table.path, place.entry.key), toml_text(place.entry.value)};
}

// Every key of the recipe that is no table, in its order. The type of a named sub-table always
// counts as changed: it says that the table is there. What only the data tell plays no part, so
// that a recipe is the same before and after its data are prepared.
std::vector<Leaf> leaves_of(const SchemaSet& schemas, const Table& root, const std::string& file) {
  std::vector<Leaf> leaves;
  Table copy = root;  // visiting needs a table that may change
  visit_leaves(schemas, copy, file, [&](const LeafPlace& place) {
    Leaf leaf = leaf_at(place);
    leaf.identity = is_identity(place);
    leaf.changed = !is_default_or_derived(place);
    leaves.push_back(std::move(leaf));
  });
  return leaves;
}

// The recipe as it may be written down: what only the data told is "auto" again.
Table without_dataset_info(const SchemaSet& schemas, Table root, const std::string& file) {
  const DatasetInfo no_dataset_info;
  visit_tables(schemas, root, [&](const TablePlace& place) {
    for (Entry& entry : place.table.entries()) {
      const Schema* schema = place.schema.find(entry.key);
      if (entry.value.origin != Origin::derived || schema == nullptr || !may_be_auto(*schema))
        continue;
      if (derive({schemas, root, no_dataset_info, file}, join_path(place.path, entry.key),
                 place.schema.type()))
        continue;
      entry.value.data = std::string("auto");
    }
  });
  return root;
}

// 32 hex digits of the changed identity leaves, sorted by path. Nothing in `root` is changed.
std::string hash_of(const SchemaSet& schemas, Table& root, const std::string& file) {
  std::vector<std::string> lines;
  visit_leaves(schemas, root, file, [&](const LeafPlace& place) {
    if (is_default_or_derived(place) || !is_identity(place)) return;
    const Leaf leaf = leaf_at(place);
    lines.push_back(leaf.path + "=" + leaf.text + "\n");
  });
  std::sort(lines.begin(), lines.end());
  std::string canonical;
  for (const std::string& line : lines) canonical += line;
  return hash_hex(canonical);
}

std::string file_of(const Table& root) {
  return root.where.file == nullptr ? "" : root.where.file->name;
}

Resolution resolve_merged(const RecipeText& text, Extended extended,
                          const DatasetInfo& dataset_info, const SchemaSet& schemas) {
  const std::string file = text.files.front()->name;
  Diagnostics diagnostics = std::move(extended.diagnostics);
  Table& root = extended.root;
  std::vector<std::string> overrides = apply_overrides(schemas, root, text, diagnostics);
  validate(schemas, root, diagnostics);
  check_no_sweep(root, file, diagnostics);
  fill_defaults(schemas, root, dataset_info, file);
  check_rules(schemas, root, dataset_info, diagnostics);
  add_chains(text, extended, diagnostics);
  std::string hash = hash_of(schemas, root, file);
  return {ResolvedRecipe(std::move(root), std::move(hash), std::move(overrides), schemas),
          first_of(std::move(diagnostics))};
}

}  // namespace

ResolvedRecipe::ResolvedRecipe(Table root, std::string hash, std::vector<std::string> overrides,
                               const SchemaSet& schemas)
    : root_(std::move(root)),
      hash_(std::move(hash)),
      overrides_(std::move(overrides)),
      schemas_(&schemas) {}

ResolvedRecipe ResolvedRecipe::with_warnings(Diagnostics warnings) && {
  warnings_ = std::move(warnings);
  return std::move(*this);
}

bool Resolution::is_valid(const std::string& table) const {
  Table copy = recipe.root();  // visiting needs a table that may change
  Diagnostics found;
  validate_table(recipe.schemas(), copy, table, found);
  return copy.find(table) != nullptr && !has_errors(found);
}

Section ResolvedRecipe::section(std::string_view table) const {
  const Value* value = root_.find(table);
  const Schema* node = schemas_->find(table);
  if (node == nullptr)
    throw std::logic_error("recipe: there is no table [" + std::string(table) + "]");
  static const Table kEmpty;  // [sweep] of a plain run, [evaluation] without one
  const Table& found = value == nullptr ? kEmpty : *value->as<Table>();
  return Section(found, std::string(table),
                 TableSchema::of(*schemas_, *node, &found, table)->file());
}

const Value* ResolvedRecipe::find(std::string_view path) const {
  return find_path(root_, path);
}

Table ResolvedRecipe::written() const {
  return without_dataset_info(*schemas_, root_, file_of(root_));
}

std::string ResolvedRecipe::to_toml() const {
  return "version = " + std::to_string(kRecipeVersion) + "\n\n" + toml_document(written());
}

std::vector<std::pair<std::string, std::string>> ResolvedRecipe::leaves(bool changed_only) const {
  std::vector<std::pair<std::string, std::string>> result;
  for (Leaf& leaf : leaves_of(*schemas_, root_, file_of(root_)))
    if (!changed_only || (leaf.identity && leaf.changed))
      result.emplace_back(std::move(leaf.path), std::move(leaf.text));
  return result;
}

std::vector<Difference> differences(const ResolvedRecipe& a, const ResolvedRecipe& b) {
  std::map<std::string, Difference> found;
  for (const auto& [path, text] : a.leaves(true)) found[path].a = text;
  for (const auto& [path, text] : b.leaves(true)) found[path].b = text;
  std::vector<Difference> differences;
  for (auto& [path, difference] : found) {
    if (difference.a == difference.b) continue;
    const Value* in_a = a.find(path);
    const Value* in_b = b.find(path);
    const std::string value_a = in_a == nullptr ? "" : toml_text(*in_a);
    const std::string value_b = in_b == nullptr ? "" : toml_text(*in_b);
    if (value_a != value_b) differences.push_back({path, value_a, value_b});  // derived in one
  }
  return differences;
}

bool differ_below(std::string_view table, const ResolvedRecipe& a, const ResolvedRecipe& b) {
  const auto found = differences(a, b);
  return std::any_of(found.begin(), found.end(), [&](const Difference& difference) {
    return difference.path.starts_with(table);
  });
}

struct Resolver::Known {
  RecipeText text;
  const SchemaSet& schemas;
  Extended extended;
};

Resolver::Resolver(RecipeText text, const SchemaSet& schemas) {
  Extended extended = extend_files(text, schemas);
  known_ = std::make_unique<const Known>(Known{std::move(text), schemas, std::move(extended)});
}

Resolver::~Resolver() = default;

Resolution Resolver::operator()(const std::vector<std::string>& overrides,
                                const DatasetInfo& dataset_info) const {
  RecipeText text = known_->text;
  text.overrides = overrides;
  return resolve_merged(text, known_->extended, dataset_info, known_->schemas);
}

Resolution try_resolve(const RecipeText& text, const DatasetInfo& dataset_info,
                       const SchemaSet& schemas) {
  return Resolver(text, schemas)(text.overrides, dataset_info);
}

ResolvedRecipe resolve(const RecipeText& text, const DatasetInfo& dataset_info,
                       const SchemaSet& schemas) {
  Resolution resolution = try_resolve(text, dataset_info, schemas);
  if (has_errors(resolution.diagnostics)) throw RecipeError(std::move(resolution.diagnostics));
  return std::move(resolution.recipe).with_warnings(std::move(resolution.diagnostics));
}

}  // namespace exprun
