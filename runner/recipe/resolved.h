// A recipe with every override, derived value and default filled in, checked, and its hash: of the
// paths and values of all keys that are neither default nor derived, but those that cannot change
// results ("x-identity": false in their schema).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/dataset_info.h"
#include "base/diagnostic.h"
#include "recipe/recipe_text.h"
#include "recipe/schema/schema.h"
#include "recipe/section.h"
#include "recipe/value.h"

namespace exprun {

class ResolvedRecipe {
 public:
  ResolvedRecipe(Table root, std::string hash, std::vector<std::string> overrides,
                 const SchemaSet& schemas);
  ResolvedRecipe with_warnings(Diagnostics warnings) &&;

  const Table& root() const { return root_; }
  const std::string& hash() const { return hash_; }  // 32 hex digits of XXH3-128
  const Diagnostics& warnings() const { return warnings_; }

  // Those of its text with the whole paths of their keys, as they are stored: a later schema may
  // have two keys that end in what is one key's name today.
  const std::vector<std::string>& overrides() const { return overrides_; }

  // A top-level table: section("optimizer"). Every table exists after resolving.
  Section section(std::string_view table) const;

  // The value at a dotted path, or null: find("optimizer.lr").
  const Value* find(std::string_view path) const;

  const SchemaSet& schemas() const { return *schemas_; }

  // What may be written down: all defaults are there, and what only data told is "auto".
  Table written() const;

  // As TOML; read back it is the same recipe with the same hash.
  std::string to_toml() const;

  // Leaves as (dotted path, value as TOML text): the parameters of the run row. Only identity
  // keys that are not at their default when `changed_only`.
  std::vector<std::pair<std::string, std::string>> leaves(bool changed_only) const;

 private:
  Table root_;
  std::string hash_;
  std::vector<std::string> overrides_;
  Diagnostics warnings_;
  const SchemaSet* schemas_;
};

// Merge, overrides, schema, derived values, defaults, rules over several tables. Pure: reads no
// file. Throws RecipeError with every diagnostic at once.
ResolvedRecipe resolve(const RecipeText& text, const DatasetInfo& dataset_info = {},
                       const SchemaSet& schemas = SchemaSet::embedded());

// The same for who wants to know all there is to say: `recipe` is completed as far as its mistakes
// allow, and to be read only where it `is_valid`. Throws RecipeError for a file that is no TOML.
struct Resolution {
  ResolvedRecipe recipe;
  Diagnostics diagnostics;  // errors and warnings, sorted by place

  // Whether the schema finds no mistake in a top-level table.
  bool is_valid(const std::string& table) const;
};
Resolution try_resolve(const RecipeText& text, const DatasetInfo& dataset_info = {},
                       const SchemaSet& schemas = SchemaSet::embedded());

// A recipe that is resolved with one change after another, as a sweep asks for: its files are
// parsed and merged once.
class Resolver {
 public:
  // The overrides of the text play no part, but how many of them the user has not typed does.
  // Throws RecipeError for a file that is no TOML.
  explicit Resolver(RecipeText text, const SchemaSet& schemas = SchemaSet::embedded());
  ~Resolver();

  // Any thread may ask.
  Resolution operator()(const std::vector<std::string>& overrides,
                        const DatasetInfo& dataset_info = {}) const;

 private:
  struct Known;
  std::unique_ptr<const Known> known_;
};

// The keys in which two resolved recipes differ, identity keys only: (path, in a, in b); an absent
// value is empty.
struct Difference {
  std::string path, a, b;
};
std::vector<Difference> differences(const ResolvedRecipe& a, const ResolvedRecipe& b);

// Whether one of them is of a table: differ_below("dataset.", a, b).
bool differ_below(std::string_view table, const ResolvedRecipe& a, const ResolvedRecipe& b);

// A value of a Difference, for people: "not set" for an absent one.
inline std::string set_or_not(const std::string& value) {
  return value.empty() ? "not set" : value;
}

// "optimizer.lr: 0.001 -> 0.002"
inline std::string change_text(const Difference& difference) {
  return difference.path + ": " + set_or_not(difference.a) + " -> " + set_or_not(difference.b);
}

}  // namespace exprun
