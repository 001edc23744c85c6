#include "store/store_error.h"

#include <sqlite3.h>

namespace exprun {
namespace {

std::string explain(int code, const std::string& message) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "the disk is full; free some space";
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "it cannot be written to; check the permissions of the file and of its folder, or "
             "choose another place with --store";
    case SQLITE_CANTOPEN:
      return "it cannot be opened (" + message +
             "); check the permissions of the file and of its folder";
    case SQLITE_NOTADB:
      return "it is not a SQLite database; move it away, or choose another place with --store";
    case SQLITE_CORRUPT:
      return "it is damaged (" + message +
             "); move it away and take what can be read with: sqlite3 FILE .recover";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program keeps it locked; end that program (writers must take the lock "
             "described in store/FORMAT.md)";
    case SQLITE_IOERR:
      return "reading or writing failed (" + message + "); check the disk and its free space";
    default:
      return message;
  }
}

}  // namespace

Error store_error(const std::string& action, const std::filesystem::path& file, int sqlite_code,
                  const std::string& sqlite_message) {
  return store_error(action, file, explain(sqlite_code, sqlite_message));
}

Error store_error(const std::string& action, const std::filesystem::path& file,
                  const std::string& reason) {
  return Error("store: cannot " + action + " '" + file.string() + "': " + reason,
               ExitCode::store_error);
}

}  // namespace exprun
