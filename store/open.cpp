#include "store/open.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/atomic_file.h"
#include "base/log.h"

namespace exprun {
namespace {

// Size of what lies at the path, 0 when nothing does. By status only: see connection.h.
uintmax_t size_at(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) return 0;
  if (error) throw store_error("open", file, error.message());
  if (status.type() != std::filesystem::file_type::regular) {
    throw store_error("open", file, "it is not a file; choose another place with --store");
  }
  return std::filesystem::file_size(file);
}

void make_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = folder_of(file);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw store_error("make the folder of", file,
                      error.message() + "; choose another place with --store");
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw store_error("write to the folder of", file,
                      std::generic_category().message(errno) +
                          "; check its permissions, or choose another place with --store");
  }
}

void refuse_foreign(const DatabaseIdentity& identity, const std::filesystem::path& file) {
  if (identity.ours || (identity.empty && identity.format == 0)) return;
  throw store_error("open", file,
                    "it is a SQLite database of another program; move it away, or choose another "
                    "place with --store");
}

std::string newer_than_known(int format, const Migrations& migrations) {
  return "it was written by a newer exprun (format " + std::to_string(format) +
         ", this one knows " + std::to_string(migrations.size()) + "); update exprun";
}

std::unique_ptr<Connection> prepare(const std::filesystem::path& file, const Migrations& migrations,
                                    const std::string& journal_mode);

// Nobody is told to migrate by hand: whoever may write does it on the way.
void bring_up_to_date(const std::filesystem::path& file, int format, const Migrations& migrations) {
  try {
    prepare(file, migrations, wanted_journal_mode(file));
  } catch (const Error& error) {
    throw store_error("read", file,
                      "its format is older (" + std::to_string(format) + ", not " +
                          std::to_string(migrations.size()) +
                          ") and could not be brought up to date: " + error.what());
  }
}

std::unique_ptr<Connection> open_reading(const std::filesystem::path& file,
                                         const Migrations& migrations) {
  if (size_at(file) == 0) {
    throw store_error("read", file,
                      "there is no store yet; a first run makes one, --store names another place");
  }
  auto connection = std::make_unique<Connection>(file, Connection::Mode::read_only);
  const DatabaseIdentity identity = identify(*connection);
  refuse_foreign(identity, file);
  const int newest = static_cast<int>(migrations.size());
  if (identity.format > newest) {
    log_warning("store: '" + file.string() +
                "' is opened read-only: " + newer_than_known(identity.format, migrations));
    connection->forbid_writing(newer_than_known(identity.format, migrations));
  } else if (identity.format < newest) {
    connection.reset();
    bring_up_to_date(file, identity.format, migrations);
    return open_reading(file, migrations);
  } else {
    connection->forbid_writing("it was opened for reading only");
  }
  return connection;
}

// SQLite makes the file; an empty one is a database without tables.
void make_file(const std::filesystem::path& file) {
  try {
    const SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  } catch (const SQLite::Exception& error) {
    throw store_error("make", file, error.getExtendedErrorCode(), error.what());
  }
}

bool up_to_date(const DatabaseIdentity& identity, const Migrations& migrations,
                const std::string& journal_mode) {
  return identity.ours && identity.journal_mode == journal_mode &&
         identity.format == static_cast<int>(migrations.size());
}

// Twenty processes may come here at once: whoever has the lock looks again before it acts.
std::unique_ptr<Connection> prepare(const std::filesystem::path& file, const Migrations& migrations,
                                    const std::string& journal_mode) {
  std::unique_ptr<Connection> connection;  // closes after the lock is given back
  const FileLock lock = lock_store(file, "prepare");
  make_file(file);
  connection = std::make_unique<Connection>(file, Connection::Mode::read_write);
  refuse_foreign(identify(*connection), file);
  migrate(*connection, migrations, journal_mode);
  if (journal_mode != "wal")
    log_warning(
        "store: '" + file.string() +
        "' lies on a network file system and is kept without a write-ahead log: readers and "
        "writers wait for each other, and only runs of this host are known to live; a local "
        "disk is better (--store)");
  return connection;
}

std::unique_ptr<Connection> open_writing(const std::filesystem::path& file,
                                         const Migrations& migrations,
                                         const std::string& journal_mode) {
  if (size_at(file) > 0) {
    auto connection = std::make_unique<Connection>(file, Connection::Mode::read_only);
    const DatabaseIdentity identity = identify(*connection);
    refuse_foreign(identity, file);
    if (identity.format > static_cast<int>(migrations.size()))
      return open_reading(file, migrations);
    make_folder(file);
    if (up_to_date(identity, migrations, journal_mode)) {
      return std::make_unique<Connection>(file, Connection::Mode::read_write);
    }
  }
  make_folder(file);
  return prepare(file, migrations, journal_mode);
}

}  // namespace

std::unique_ptr<Connection> open_store(const std::filesystem::path& file, Connection::Mode mode,
                                       const Migrations& migrations,
                                       const std::string& journal_mode) {
  if (mode == Connection::Mode::read_only) return open_reading(file, migrations);
  auto connection = open_writing(file, migrations,
                                 journal_mode.empty() ? wanted_journal_mode(file) : journal_mode);
  // Without a WAL, NORMAL would let a loss of power damage the file.
  if (connection->database().execAndGet("PRAGMA journal_mode").getString() != "wal")
    connection->always_sync();
  return connection;
}

}  // namespace exprun
