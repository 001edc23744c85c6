// From a path to a connection of a store in the newest format, whatever lies at the path.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/database/connection.h"

namespace exprun {

// The format of a store is the number of the last migration that was applied to it: user_version.

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

// read_write makes a missing file and its folder and migrates an older format. A store of a newer
// format is opened read-only, with a warning. Throws Error with ExitCode::store_error: a folder, a
// foreign or damaged file, a place that cannot be written to, a file that is missing.
// `journal_mode` is what the file system asks for unless a test says otherwise.
std::unique_ptr<Connection> open_store(const std::filesystem::path& file, Connection::Mode mode,
                                       const Migrations& migrations = embedded_migrations(),
                                       const std::string& journal_mode = "");

// Where a store lies: on a disk of this machine, or on one that other machines share.

// "nfs", "lustre", "fuse", ...; empty for a local file system or one that cannot be asked.
std::string network_file_system(const std::filesystem::path& folder);

}  // namespace exprun
