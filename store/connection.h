// One SQLite connection to a store, with its settings and its rules: every write transaction and
// every WAL checkpoint runs under the lock of the store; readers take no lock and never checkpoint.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/file_lock.h"
#include "store/store_error.h"

namespace exprun {

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

  // The statement of this text, prepared once. Use it through Query (query.h).
  SQLite::Statement& prepared(std::string_view sql);
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

  void configure();
  void set_durability(Durability durability);

  std::filesystem::path file_;
  Mode mode_;
  std::chrono::milliseconds patience_{30'000};
  std::string read_only_reason_;
  Durability durability_ = Durability::written;
  bool always_synced_ = false;
  int wal_pages_ = 0;  // in the WAL after the last commit
  std::unique_ptr<SQLite::Database> database_;
  std::map<std::string, std::unique_ptr<SQLite::Statement>, std::less<>> statements_;
};

// "file:/runs/exprun.db?mode=ro"; SQLite's documentation has the parameters.
std::string database_uri(const std::filesystem::path& file, const std::string& parameters);

// Waits for "<database>.lock". Throws Error with ExitCode::store_error when it cannot be had.
FileLock lock_store(const std::filesystem::path& database, const std::string& action,
                    std::chrono::milliseconds patience = std::chrono::seconds(30));

}  // namespace exprun
