// exprun query "SQL"
#include <charconv>

#include "control/command/stored_runs.h"
#include "control/command/table_format.h"

namespace exprun {
namespace {

// Numbers in full: a query is asked for exact values.
Cell cell_of(const std::optional<std::string>& text, char type) {
  if (!text) return Cell::none();
  const char* const end = text->data() + text->size();
  int64_t integer = 0;
  if (type == 'i' && std::from_chars(text->data(), end, integer).ec == std::errc{})
    return {integer, *text};
  double number = 0;
  if (type == 'r' && std::from_chars(text->data(), end, number).ec == std::errc{})
    return {number, *text};
  return Cell::word(*text);
}

// Objects of JSON need different keys: a second "id" becomes "id_2".
std::string unique_key(const ResultTable& table, const std::string& name) {
  std::string key = name;
  const auto taken = [&] {
    for (const Column& column : table.columns)
      if (column.key == key) return true;
    return false;
  };
  for (int number = 2; taken(); ++number) key = name + '_' + std::to_string(number);
  return key;
}

bool is_number(char type) {
  return type == 'i' || type == 'r';
}

ResultTable table_of(const Store::Result& result) {
  ResultTable table;
  for (size_t i = 0; i < result.columns.size(); ++i) {
    const bool right = !result.types.empty() && is_number(result.types[0][i]);
    table.columns.push_back({unique_key(table, result.columns[i]), result.columns[i], right});
  }
  for (size_t r = 0; r < result.rows.size(); ++r) {
    std::vector<Cell> row;
    for (size_t i = 0; i < result.rows[r].size(); ++i)
      row.push_back(cell_of(result.rows[r][i], result.types[r][i]));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

int run_query(const Words& words, const Globals& globals) {
  std::string sql;
  TableFormat format;
  Arguments arguments("query SQL", "Queries the store with SQL, read-only.");
  arguments.word("SQL", sql, "a query; store/FORMAT.md describes the tables");
  format.declare(arguments);
  arguments.exit_codes(kFindsRuns)
      .example("exprun query \"SELECT name, state FROM runs\"", "plain columns")
      .example("exprun query \"SELECT * FROM runs\" --json", "for a script");
  if (!arguments.parse(words)) return 0;
  format.print(table_of(open_store(globals.store).query(sql)), "no rows");
  return 0;
}

}  // namespace exprun
