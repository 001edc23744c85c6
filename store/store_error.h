// How SQLite's failures become an Error that names the file and the remedy.
#pragma once

#include <filesystem>
#include <string>

#include "base/diagnostic.h"

namespace exprun {

// "store: cannot record the run in 'runs/exprun.db': the disk is full; free some space ...".
// `sqlite_code` may be an extended result code; `sqlite_message` is SQLite's own text.
Error store_error(const std::string& action, const std::filesystem::path& file, int sqlite_code,
                  const std::string& sqlite_message);

// The same where the reason is ours and not SQLite's.
Error store_error(const std::string& action, const std::filesystem::path& file,
                  const std::string& reason);

}  // namespace exprun
