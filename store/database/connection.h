// One SQLite connection to a store, with its settings and its rules: every write transaction and
// every WAL checkpoint runs under the lock of the store; readers take no lock and never checkpoint.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/files/file_lock.h"

struct sqlite3_value;

namespace exprun {

// How SQLite's failures become an Error that names the file and the remedy.

// "store: cannot record the run in 'runs/exprun.db': the disk is full; free some space ...".
// `sqlite_code` may be an extended result code; `sqlite_message` is SQLite's own text.
Error store_error(const std::string& action, const std::filesystem::path& file, int sqlite_code,
                  const std::string& sqlite_message);

// The same where the reason is ours and not SQLite's.
Error store_error(const std::string& action, const std::filesystem::path& file,
                  const std::string& reason);

// "exrn": SQLite keeps it in the header, `file` shows it.
inline constexpr int kApplicationId = 0x6578726e;

class Connection {
 public:
  enum class Mode { read_only, read_write };
  // `synced` commits survive a loss of power; `written` ones survive the death of the process.
  enum class Durability { written, synced };

  // Opens an existing database as it is. To make or migrate one: open_store (open.h).
  Connection(std::filesystem::path file, Mode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::filesystem::path& file() const { return file_; }
  Mode mode() const { return mode_; }
  SQLite::Database& database() { return *database_; }

  // The statement of this text, prepared once. Use it through Query.
  SQLite::Statement& prepared(std::string_view sql);

  // Runs "SELECT each_row(A, B, ...) FROM ...", bound: calls `visit` with the values of every row,
  // in the order in which SQLite comes by them, without a way out of SQLite and back for each row,
  // which costs as much as reading a short one. What `visit` throws ends it; it must not begin
  // another each_row of this connection.
  using VisitRow = std::function<void(sqlite3_value** values)>;
  void each_row(SQLite::Statement& statement, const VisitRow& visit);  // see Query

  void always_sync();  // every commit is a synced one
  void forget_statements() { statements_.clear(); }

  // Waits for the lock of the store. Throws Error when it is not given in time.
  FileLock lock(const std::string& action) const;
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

  // Why nothing can be written, or nothing.
  void forbid_writing(std::string reason) { read_only_reason_ = std::move(reason); }

  // Runs `body` and turns SQLite's failures into Errors: "cannot <action> '<file>': ...".
  template <typename Body>
  auto guarded(const std::string& action, Body&& body) const {
    try {
      return body();
    } catch (const SQLite::Exception& error) {
      throw store_error(action, file_, error.getExtendedErrorCode(), error.what());
    }
  }

  // Runs `body` in one transaction under the lock; it is committed whole or not at all.
  template <typename Body>
  auto write(const std::string& action, Durability durability, Body&& body) {
    return guarded(action, [&] {
      const WriteScope scope(*this, action, durability);
      SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
        transaction.commit();
      } else {
        auto result = body();
        transaction.commit();
        return result;
      }
    });
  }

  // Whether the file was removed or replaced under the open connection.
  bool file_has_moved() const;

 private:
  // Holds the lock; on the way out it moves a long WAL into the database.
  class WriteScope {
   public:
    WriteScope(Connection& connection, const std::string& action, Durability durability);
    ~WriteScope();
    WriteScope(const WriteScope&) = delete;
    WriteScope& operator=(const WriteScope&) = delete;

   private:
    Connection& connection_;
    FileLock lock_;
  };

  struct RowVisitor;

  void configure();
  void set_durability(Durability durability);

  std::filesystem::path file_;
  Mode mode_;
  std::chrono::milliseconds patience_{30'000};
  std::string read_only_reason_;
  Durability durability_ = Durability::written;
  bool always_synced_ = false;
  int wal_pages_ = 0;              // in the WAL after the last commit
  RowVisitor* visitor_ = nullptr;  // while each_row is at it
  std::unique_ptr<SQLite::Database> database_;
  std::map<std::string, std::unique_ptr<SQLite::Statement>, std::less<>> statements_;
};

// "file:/runs/exprun.db?mode=ro"; SQLite's documentation has the parameters.
std::string database_uri(const std::filesystem::path& file, const std::string& parameters);

// Waits for "<database>.lock". Throws Error with ExitCode::store_error when it cannot be had.
FileLock lock_store(const std::filesystem::path& database, const std::string& action,
                    std::chrono::milliseconds patience = std::chrono::seconds(30));

// A prepared statement of a connection, bound and read in one breath, and reset at its end: a
// statement left open would pin the WAL.
class Query {
 public:
  template <typename... Values>
  Query(Connection& connection, std::string_view sql, const Values&... values)
      : connection_(connection), statement_(connection.prepared(sql)) {
    [[maybe_unused]] int index = 0;
    (bind(++index, values), ...);
  }
  ~Query() {
    statement_.tryReset();
    if (bound_text_) statement_.clearBindings();
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  bool step() { return statement_.executeStep(); }

  void each_row(const Connection::VisitRow& visit) { connection_.each_row(statement_, visit); }

  // What `read` makes of each row.
  template <typename Read>
  auto rows(const Read& read) {
    std::vector<decltype(read(*this))> all;
    while (step()) all.push_back(read(*this));
    return all;
  }
  // Of rows with one column.
  std::vector<int64_t> integers() {
    return rows([](Query& row) { return row.integer(0); });
  }
  std::vector<std::string> texts() {
    return rows([](Query& row) { return row.text(0); });
  }

  // For statements without rows; returns the number of rows that they changed.
  int run() { return statement_.exec(); }

  bool is_null(int column) { return statement_.isColumnNull(column); }
  int64_t integer(int column) { return statement_.getColumn(column).getInt64(); }
  double real(int column) { return statement_.getColumn(column).getDouble(); }
  double real_or_nan(int column) {  // NULL stands for NaN: FORMAT.md
    return is_null(column) ? std::numeric_limits<double>::quiet_NaN() : real(column);
  }
  std::string text(int column) { return statement_.getColumn(column).getString(); }

  std::optional<int64_t> optional_integer(int column) {
    if (is_null(column)) return std::nullopt;
    return integer(column);
  }
  std::optional<std::string> optional_text(int column) {
    if (is_null(column)) return std::nullopt;
    return text(column);
  }
  std::optional<bool> optional_flag(int column) {
    if (is_null(column)) return std::nullopt;
    return integer(column) != 0;
  }

 private:
  template <typename Value>
  void bind(int index, const Value& value) {
    if constexpr (std::is_integral_v<Value>) {
      statement_.bind(index, static_cast<int64_t>(value));
    } else if constexpr (std::is_floating_point_v<Value>) {
      statement_.bind(index, static_cast<double>(value));  // NaN becomes NULL: see FORMAT.md
    } else {
      bind_text(index, value);
    }
  }
  void bind_text(int index, std::string_view text) {
    statement_.bind(index, std::string(text));
    bound_text_ = true;
  }
  template <typename Value>
  void bind(int index, const std::optional<Value>& value) {
    if (value) {
      bind(index, *value);
    } else {
      statement_.bind(index);
    }
  }

  Connection& connection_;
  SQLite::Statement& statement_;
  bool bound_text_ = false;
};

}  // namespace exprun
