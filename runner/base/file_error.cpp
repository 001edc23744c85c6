#include "base/file_error.h"

#include <cerrno>
#include <system_error>

namespace exprun {
namespace {

const char* remedy(int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM:
      return "; check its permissions";
    case EROFS:
      return "; choose a place that can be written to";
    case ENOSPC:
    case EDQUOT:
      return "; free some space";
    case EFBIG:
      return "; raise the limit of file sizes (ulimit -f)";
    case EMFILE:
    case ENFILE:
      return "; raise the limit of open files (ulimit -n)";
    default:
      return "";
  }
}

}  // namespace

FileError file_error(const std::string& action, const std::filesystem::path& file) {
  return file_error(action, file, errno);
}

FileError file_error(const std::string& action, const std::filesystem::path& file,
                     int error_number) {
  return FileError("file: cannot " + action + " '" + file.string() +
                   "': " + std::generic_category().message(error_number) + remedy(error_number));
}

}  // namespace exprun
