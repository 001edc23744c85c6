// The JSON Schema files below schemas/, embedded into the programs: the one description of every
// table and component. Validator, defaults, help and editors read it.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

// Keeps the order of its file, which is the order in which keys are shown.
using Schema = nlohmann::ordered_json;

// The tables of a recipe, in the order in which they are shown.
inline constexpr const char* kTables[] = {"run",        "model",      "dataset",   "batch",
                                          "optimizer",  "schedule",   "precision", "parallelism",
                                          "evaluation", "checkpoint", "metrics",   "sweep"};

// Those that no recipe can do without.
inline constexpr const char* kNeededTables[] = {"run", "model", "dataset", "batch", "optimizer"};

class TableSchemas;

class SchemaSet {
 public:
  ~SchemaSet();
  SchemaSet(SchemaSet&&) noexcept;

  static const SchemaSet& embedded();
  // The embedded files and more, which win: tests add components. (path below schemas/ such as
  // "optimizer/adamw.schema.json", text).
  static SchemaSet with(std::vector<std::pair<std::string, std::string>> more);

  // Of a plain table ("run", "batch") or a component ("optimizer", "adamw"); null if there is none.
  // A file is read when it is first asked for: a recipe needs few of them. Throws std::logic_error
  // on one that is no schema of our subset.
  const Schema* find(std::string_view table) const;
  const Schema* find(std::string_view kind, std::string_view type) const;

  // The types of a kind, sorted: types("optimizer") == {"adamw"}; empty for a plain table.
  std::vector<std::string> types(std::string_view kind) const;

  // Every table and every "kind/type", in the order in which tables are shown.
  std::vector<std::string> names() const;

  // All files, by path.
  std::vector<std::pair<std::string, const Schema*>> files() const;

  // What tables of these schemas may hold (table_schema.h).
  TableSchemas& tables() const { return *tables_; }

 private:
  struct Files;
  explicit SchemaSet(std::vector<std::pair<std::string, std::string>> more);

  std::unique_ptr<Files> files_;
  std::unique_ptr<TableSchemas> tables_;
};

// All of them in one, as editors read it, and its file.
inline constexpr const char* kComposedSchemaFile = "recipe.schema.json";
std::string_view composed_schema();

}  // namespace exprun
