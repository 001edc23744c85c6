// Which keys a recipe has, by path: what overrides and the axes of a sweep name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

// The schema of the key at a path, whether or not the recipe writes it; null if it is unknown.
const Schema* schema_at(const SchemaSet& schemas, const Table& root, const std::string& path);

// The path of the key that a recipe may have instead: batch.tokens of batch.sequences; else empty.
std::string alternative_to(const SchemaSet& schemas, const Table& root, const std::string& path);

// Whether a part of the path is a name that the user chose: [evaluation.NAME].
bool is_user_named(const SchemaSet& schemas, const Table& root, const std::string& path);

// Whether the table at a path is there only where the recipe has it: [model.lora],
// [evaluation.NAME].
bool is_optional_table(const SchemaSet& schemas, const Table& root, const std::string& path);

// Whether a value in the place of a table means none: false, "none".
bool says_none(const Value& value);

// How to be without such a table. A parent of the recipe may have it.
std::string help_without_table(const std::string& path);

// Every key that the recipe may have, written or not: "optimizer.lr".
std::vector<std::string> declared_paths(const SchemaSet& schemas, const Table& root);

// The declared paths of a recipe that `key` may mean: itself, or those that end in it; of these the
// one outside of evaluations and groups, or of tables that the recipe could have and has not, if
// only one is.
std::vector<std::string> matching_paths(const SchemaSet& schemas, const Table& root,
                                        const std::string& key);

// Of the paths that end in a short key, the one that is meant: the only one that is of no
// evaluation, no group of the optimizer and not of the sweep. All of them if there is no such one.
std::vector<std::string> preferred_paths(std::vector<std::string> paths);

struct MeantKey {
  std::string key, value;
};

// The key of the table at `path` and its value that a text in place of the table may mean: compute
// and bf16 for "precision" and "bf16".
std::optional<MeantKey> meant_key(const SchemaSet& schemas, const std::string& path,
                                  const Schema& table, const std::string& text);

// A table that has a key.
struct TableWithKey {
  std::string table;               // "optimizer", "evaluation.sample"
  std::vector<std::string> types;  // of the table; empty: all have it
};
std::vector<TableWithKey> tables_with_key(const SchemaSet& schemas, const std::string& key);

// "[optimizer]", "[schedule] with type = \"wsd\""
std::string to_string(const TableWithKey& table);

// The tables that stand in those of a recipe: "model.lora".
std::vector<std::string> tables_in_tables(const SchemaSet& schemas);

// "the keys of [checkpoint] are every and keep_last", or where to read them if they are many.
std::string names_of_keys(const std::string& table, const std::vector<std::string>& keys);

// "did you mean 'optimizer.lr'?" for a key that no path matches.
std::string suggest_path(const SchemaSet& schemas, const Table& root, const std::string& key);

}  // namespace exprun
