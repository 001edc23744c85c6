// The Error of a system call that failed on a file.
#pragma once

#include <filesystem>
#include <string>

#include "base/diagnostic.h"

namespace exprun {

// Reads errno: "file: cannot write 'runs/a': No space left on device; free some space ...".
Error file_error(const std::string& action, const std::filesystem::path& file);

// The same for an error number kept from before.
Error file_error(const std::string& action, const std::filesystem::path& file, int error_number);

}  // namespace exprun
