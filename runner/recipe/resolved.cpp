#include "recipe/resolved.h"

#include <map>
#include <stdexcept>

#include "recipe/emit.h"
#include "recipe/identity.h"
#include "recipe/key_path.h"
#include "recipe/load.h"
#include "recipe/table_schema.h"
#include "recipe/validate/validate.h"

namespace exprun {
namespace {

std::string file_of(const Table& root) {
  return root.where.file == nullptr ? "" : root.where.file->name;
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

bool Judgement::is_sound(const std::string& table) const {
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
  return without_facts(*schemas_, root_, file_of(root_));
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
    differences.push_back(
        {path, in_a == nullptr ? "" : toml_text(*in_a), in_b == nullptr ? "" : toml_text(*in_b)});
  }
  return differences;
}

}  // namespace exprun
