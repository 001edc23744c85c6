// From a path to a connection of a store in the newest format, whatever lies at the path.
#pragma once

#include <filesystem>
#include <memory>

#include "store/connection.h"
#include "store/migrate.h"

namespace exprun {

// read_write makes a missing file and its folder and migrates an older format. A store of a newer
// format is opened read-only, with a warning. Throws Error with ExitCode::store_error: a folder, a
// foreign or damaged file, a place that cannot be written to, a file that is missing.
// `journal_mode` is what the file system asks for unless a test says otherwise.
std::unique_ptr<Connection> open_store(const std::filesystem::path& file, Connection::Mode mode,
                                       const Migrations& migrations = embedded_migrations(),
                                       const std::string& journal_mode = "");

}  // namespace exprun
