// exprun query "SQL"
#include <cctype>
#include <charconv>

#include "base/strings.h"
#include "control/command/line/table_format.h"
#include "control/command/stored/stored_runs.h"

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

std::vector<std::string> first_column(const Store& store, const std::string& sql) {
  std::vector<std::string> texts;
  for (const auto& row : store.query(sql).rows) texts.push_back(row.front().value_or(""));
  return texts;
}

bool has_word(std::string_view sql, std::string_view word) {
  const auto is_part = [&](size_t at) {
    return at < sql.size() && (std::isalnum(static_cast<unsigned char>(sql[at])) || sql[at] == '_');
  };
  for (size_t at = sql.find(word); at != sql.npos; at = sql.find(word, at + 1))
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + word.size())) return true;
  return false;
}

// "; the columns of runs are ...", of each view that the query names.
std::string columns_of_views(const Store& store, const std::string& sql) {
  std::string text;
  for (const std::string& view :
       first_column(store, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name"))
    if (has_word(sql, view))
      text += "; the columns of " + view + " are " +
              listed(first_column(store, "SELECT name FROM pragma_table_info('" + view + "')"));
  return text;
}

Store::Result result_of(const Store& store, const std::string& sql) try {
  return store.query(sql);
} catch (const Error& error) {
  if (!std::string_view(error.what()).starts_with("query: no such column")) throw;
  throw Error(error.what() + columns_of_views(store, sql), error.code());
}

}  // namespace

int run_query(const Words& words, const Globals& globals) {
  std::string sql;
  TableFormat format;
  Arguments arguments("query SQL", "Queries the store with SQL, read-only.");
  arguments.word("SQL", sql, "a query; store/FORMAT.md describes the tables");
  format.declare(arguments);
  arguments.advice_on_more_words("put the query in quotes, or the shell splits it and expands '*'")
      .exit_codes(kFindsRuns)
      .example("exprun query \"SELECT name, state FROM runs\"", "plain columns")
      .example("exprun query \"SELECT * FROM runs\" --json", "for a script");
  if (!arguments.parse(words)) return 0;
  format.print(table_of(result_of(open_store(globals.store), sql)), "no rows");
  return 0;
}

}  // namespace exprun
