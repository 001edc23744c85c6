// The keys that one table of a recipe may have: those of the table and, when it picks a component,
// those of the component's type.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

class TableSchema {
 public:
  // Of the recipe itself, whose keys are tables.
  static std::shared_ptr<const TableSchema> of_recipe(const SchemaSet& schemas);
  // Of `table`, called `name`, with `node` as its own schema.
  static std::shared_ptr<const TableSchema> of(const SchemaSet& schemas, const Schema& node,
                                               const Table* table, std::string_view name);

  // Of a key, or of any sub-table where names are free; null if the key is unknown.
  const Schema* find(std::string_view key) const;
  // Whether the key is declared, not a free name.
  bool declares(std::string_view key) const;
  // The declared keys, in the order of their files.
  const std::vector<std::pair<std::string, const Schema*>>& keys() const { return keys_; }
  std::vector<std::string> names() const;
  // Whether a key is of the table itself or of its component; not so for the keys of all types,
  // which are accepted where the type is unknown.
  bool is_certain(size_t key) const { return key < certain_; }
  const std::vector<std::string>& required() const { return required_; }
  const std::string& description() const { return description_; }

  bool has_free_names() const { return free_ != nullptr; }
  // What a free name must be; null if any may be given.
  const Schema* free_names() const { return free_names_; }
  const std::string& kind() const { return kind_; }  // empty: picks no component
  const std::string& type() const { return type_; }  // as the table or a default says, or empty
  bool knows_type() const { return knows_type_; }
  // "optimizer/adamw.schema.json", or the table's own file; for messages about bugs.
  const std::string& file() const { return file_; }

 private:
  explicit TableSchema(const SchemaSet& schemas);
  TableSchema(const SchemaSet& schemas, const Schema& node, std::string_view type,
              std::string_view name);
  void add_node(const Schema& node, bool with_required);
  void add_component(const SchemaSet& schemas);

  std::vector<std::pair<std::string, const Schema*>> keys_;
  std::vector<std::string> required_;
  const Schema* free_ = nullptr;
  const Schema* free_names_ = nullptr;
  std::string description_, kind_, type_, file_;
  size_t certain_ = 0;
  bool knows_type_ = false;
};

// Those of one set of schemas that were asked for: a recipe's tables are visited many times, and a
// sweep has a thousand recipes.
class TableSchemas {
 public:
  using Made = std::shared_ptr<const TableSchema>;

  // The one of a schema and a table's name or type, made when it is first asked for. Any thread
  // may ask.
  Made of(const Schema* node, std::string_view name_or_type, const std::function<Made()>& make);

 private:
  std::mutex mutex_;
  std::map<std::pair<const Schema*, std::string>, Made> known_;
};

bool is_table(const Schema& schema);

// Whether a table's or a component's own schema has the key, and whether it must be there.
bool declares_key(const Schema& schema, const std::string& key);
bool requires_key(const Schema& schema, const std::string& key);

// A table of a recipe and what it may hold.
struct TablePlace {
  std::string path;   // empty for the recipe itself
  SourceSpan header;  // of its name
  Table& table;
  const TableSchema& schema;
  bool is_invalid = false;  // its name is a mistake that is reported already
};

// Visits every declared table, parents first. A visitor may change the entries of its table.
void visit_tables(const SchemaSet& schemas, Table& root,
                  const std::function<void(const TablePlace&)>& visit);

}  // namespace exprun
