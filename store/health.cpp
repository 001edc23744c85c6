// What `doctor` tells about a store.
#include <sqlite3.h>

#include "store/store_impl.h"

namespace exprun {
namespace {

std::string first_value(Connection& connection, const char* sql) {
  return connection.database().execAndGet(sql).getString();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Store::health() const {
  Connection& connection = *impl_->connection;
  return connection.guarded("check", [&] {
    return std::vector<std::pair<std::string, std::string>>{
        {"store", connection.file().string()},
        {"sqlite", sqlite3_libversion()},
        {"format", first_value(connection, "PRAGMA user_version")},
        {"journal mode", first_value(connection, "PRAGMA journal_mode")},
        {"runs", first_value(connection, "SELECT count(*) FROM run")},
        {"bytes", std::to_string(std::filesystem::file_size(connection.file()))},
        {"integrity", first_value(connection, "PRAGMA integrity_check(1)")},
    };
  });
}

}  // namespace exprun
