// Any SQL of the user, on a connection of its own that cannot write.
#include <sqlite3.h>

#include <algorithm>

#include "base/format_units.h"
#include "base/strings.h"
#include "store/database/connection.h"
#include "store/store.h"

namespace exprun {
namespace {

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

constexpr const char* kOnlyReads = "only statements that read, such as SELECT, are allowed";

constexpr const char* kChanges[] = {"alter",  "create",  "delete", "drop",
                                    "insert", "replace", "update"};

[[noreturn]] void refuse(const std::string& reason) {
  throw Error("query: " + reason, ExitCode::bad_recipe);
}

// What queries are written on: their columns stay as they are, those of tables may not.
std::string views(sqlite3* database) {
  sqlite3_stmt* found = nullptr;
  sqlite3_prepare_v2(database, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name",
                     -1, &found, nullptr);
  const Statement statement(found);
  std::vector<std::string> names;
  while (found && sqlite3_step(found) == SQLITE_ROW)
    names.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(found, 0)));
  return listed(names);
}

// By its first word: of some of these SQLite has advice that is of no use here.
bool is_written_to_change(const std::string& sql) {
  constexpr const char* kSpaces = " \t\r\n";
  std::string word = sql.substr(std::min(sql.size(), sql.find_first_not_of(kSpaces)));
  word.resize(std::min(word.size(), word.find_first_of(kSpaces)));
  return std::ranges::any_of(
      kChanges, [&](const char* change) { return sqlite3_stricmp(word.c_str(), change) == 0; });
}

Statement prepare(sqlite3* database, const std::string& sql, const char** rest) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, rest) != SQLITE_OK) {
    if (is_written_to_change(sql)) refuse(kOnlyReads);
    std::string problem = sqlite3_errmsg(database);
    if (problem.starts_with("no such table")) problem += "; the views are " + views(database);
    if (problem.starts_with("no such column"))
      problem += "; SELECT * FROM a view shows its columns; write strings in single quotes";
    refuse(problem.starts_with("cannot modify ") ? kOnlyReads : problem);  // of a view, below WITH
  }
  return Statement(statement);
}

Statement prepare_only_statement(sqlite3* database, const std::string& sql) {
  const char* rest = nullptr;
  Statement statement = prepare(database, sql, &rest);
  if (!statement) refuse("there is no SQL statement in it");
  if (prepare(database, rest, nullptr)) refuse("give one statement at a time");
  if (!sqlite3_stmt_readonly(statement.get())) {
    refuse(kOnlyReads);
  }
  return statement;
}

void read_cell(sqlite3_stmt* statement, int column, std::vector<std::optional<std::string>>& row,
               std::vector<char>& types) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      row.emplace_back(std::nullopt);
      types.push_back('n');
      return;
    case SQLITE_INTEGER:
      row.emplace_back(std::to_string(sqlite3_column_int64(statement, column)));
      types.push_back('i');
      return;
    case SQLITE_FLOAT:
      row.emplace_back(shortest(sqlite3_column_double(statement, column)));
      types.push_back('r');
      return;
    default:
      types.push_back(sqlite3_column_type(statement, column) == SQLITE_BLOB ? 'b' : 't');
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
      row.emplace_back(size == 0 ? std::string() : std::string(bytes, size));
  }
}

}  // namespace

Store::Result Store::query(const std::string& sql) const {
  Connection connection(file(), Connection::Mode::read_only);
  sqlite3* database = connection.database().getHandle();
  const Statement statement = prepare_only_statement(database, sql);
  Result result;
  const int columns = sqlite3_column_count(statement.get());
  for (int i = 0; i < columns; ++i) {
    result.columns.emplace_back(sqlite3_column_name(statement.get(), i));
  }
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    auto& row = result.rows.emplace_back();
    auto& types = result.types.emplace_back();
    for (int i = 0; i < columns; ++i) read_cell(statement.get(), i, row, types);
  }
  if (code != SQLITE_DONE) refuse(sqlite3_errmsg(database));
  return result;
}

}  // namespace exprun
