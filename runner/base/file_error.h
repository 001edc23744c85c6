// The Error of a system call that failed on a file.
#pragma once

#include <filesystem>
#include <string>

#include "base/diagnostic.h"

namespace exprun {

// Told apart from what is wrong in the file: another call may find it mended.
class FileError : public Error {
 public:
  using Error::Error;
};

// Reads errno: "file: cannot write 'runs/a': No space left on device; free some space ...".
FileError file_error(const std::string& action, const std::filesystem::path& file);

// The same for an error number kept from before.
FileError file_error(const std::string& action, const std::filesystem::path& file,
                     int error_number);

}  // namespace exprun
