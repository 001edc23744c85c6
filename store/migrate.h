// The format of a store is the number of the last migration that was applied to it: user_version.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/connection.h"

namespace exprun {

// File name and SQL, in order: the n-th makes format n.
using Migrations = std::vector<std::pair<std::string_view, std::string_view>>;

// store/migrations/*.sql, embedded by CMake.
const Migrations& embedded_migrations();

// What a database file is, before anything is done to it.
struct DatabaseIdentity {
  bool empty = false;  // without any table: a new file
  bool ours = false;   // a store of exprun, of any format
  int format = 0;
  std::string journal_mode;
};

DatabaseIdentity identify(Connection& connection);

// "wal", or "delete" on a network file system, where a WAL's shared memory is not shared.
std::string wanted_journal_mode(const std::filesystem::path& file);

// Makes an empty database a store, or brings an older one to the newest format, in one
// transaction; an older one is copied to "<file>.format-N" first. The caller holds the lock and
// has seen that the database is empty or ours and not newer.
void migrate(Connection& connection, const Migrations& migrations, const std::string& journal_mode);

}  // namespace exprun
