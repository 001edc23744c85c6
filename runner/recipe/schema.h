// The JSON Schema files below schemas/, embedded into the programs: the one description of every
// table and component. Validator, defaults, help and editors read it.
#pragma once

#include <map>
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

class SchemaSet {
 public:
  // (path below schemas/ such as "optimizer/adamw.schema.json", text). Throws std::logic_error on
  // a file that is no schema of our subset.
  explicit SchemaSet(const std::vector<std::pair<std::string, std::string>>& files);
  ~SchemaSet();
  SchemaSet(SchemaSet&&) noexcept;

  static const SchemaSet& embedded();
  // The embedded files and more: tests add components.
  static SchemaSet with(const std::vector<std::pair<std::string, std::string>>& more);

  // Of a plain table ("run", "batch") or a component ("optimizer", "adamw"); null if there is none.
  const Schema* find(std::string_view table) const;
  const Schema* find(std::string_view kind, std::string_view type) const;

  // The types of a kind, sorted: types("optimizer") == {"adamw"}; empty for a plain table.
  std::vector<std::string> types(std::string_view kind) const;

  // Every table and every "kind/type", in the order in which tables are shown.
  std::vector<std::string> names() const;

  // All files, by path.
  const std::map<std::string, Schema>& files() const;

 private:
  std::unique_ptr<std::map<std::string, Schema>> files_;
};

// recipe.schema.json: all of them in one, as editors read it.
const std::string& composed_schema();

}  // namespace exprun
