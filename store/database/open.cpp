#include "store/database/open.h"

#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files/file.h"
#include "base/log.h"

namespace exprun {
namespace {

// f_type of statfs(2), and of the file systems' own headers for those that Linux does not have.
// FUSE may be local too; nobody can tell, and it does not promise what a write-ahead log needs.
constexpr std::pair<uint32_t, const char*> kNetwork[] = {
    {0x6969, "nfs"},        {0x517b, "smb"},      {0xff534d42, "cifs"},   {0xfe534d42, "smb2"},
    {0x0bd00bd0, "lustre"}, {0x47504653, "gpfs"}, {0x65735546, "fuse"},   {0x00c36400, "ceph"},
    {0x5346414f, "afs"},    {0x01021997, "9p"},   {0x19830326, "beegfs"}, {0xaad7aaea, "panfs"},
    {0x7461636f, "ocfs2"},  {0x01161970, "gfs2"}};

}  // namespace

std::string network_file_system(const std::filesystem::path& folder) {
  struct statfs status = {};
  if (::statfs(folder.c_str(), &status) != 0) return "";
  for (const auto& [type, name] : kNetwork)
    if (static_cast<uint32_t>(status.f_type) == type) return name;
  return "";
}

namespace {

int number(Connection& connection, const char* sql) {
  return connection.database().execAndGet(sql).getInt();
}

// The answer must be read back: SQLite refuses in silence.
void use_journal_mode(Connection& connection, const std::string& wanted) {
  const std::string mode =
      connection.database().execAndGet("PRAGMA journal_mode = " + wanted).getString();
  if (mode == wanted) return;
  throw store_error("set the journal mode of", connection.file(),
                    "it stays '" + mode + "' and does not become '" + wanted +
                        "'; end other programs that have it open, or choose a place on a local "
                        "disk with --store");
}

// Tidies up after a copy that was cut short: nobody else writes here, the caller has the lock.
void copy_of_format(Connection& connection, int format) {
  const std::filesystem::path copy =
      connection.file().string() + ".format-" + std::to_string(format);
  std::filesystem::remove(copy);
  SQLite::Statement statement(connection.database(), "VACUUM INTO ?");
  statement.bind(1, copy.string());
  statement.exec();
}

void apply(Connection& connection, const Migrations& migrations, int format) {
  SQLite::Transaction transaction(connection.database(), SQLite::TransactionBehavior::IMMEDIATE);
  const int newest = static_cast<int>(migrations.size());
  for (int next = format; next < newest; ++next) {
    connection.database().exec(std::string(migrations[next].second));
  }
  connection.database().exec("PRAGMA application_id = " + std::to_string(kApplicationId) +
                             "; PRAGMA user_version = " + std::to_string(newest));
  transaction.commit();
}

// "wal", or "delete" on a network file system, where a WAL's shared memory is not shared.
std::string wanted_journal_mode(const std::filesystem::path& file) {
  return network_file_system(folder_of(file)).empty() ? "wal" : "delete";
}

}  // namespace

DatabaseIdentity identify(Connection& connection) {
  return connection.guarded("open", [&] {
    DatabaseIdentity identity;
    identity.empty = number(connection, "SELECT count(*) FROM sqlite_schema") == 0;
    identity.ours = number(connection, "PRAGMA application_id") == kApplicationId;
    identity.format = number(connection, "PRAGMA user_version");
    identity.journal_mode = connection.database().execAndGet("PRAGMA journal_mode").getString();
    return identity;
  });
}

namespace {

// Makes an empty database a store, or brings an older one to the newest format, in one
// transaction; an older one is copied to "<file>.format-N" first. The caller holds the lock and
// has seen that the database is empty or ours and not newer.
void migrate(Connection& connection, const Migrations& migrations,
             const std::string& journal_mode) {
  connection.guarded("prepare", [&] {
    const DatabaseIdentity identity = identify(connection);
    // Only a database without tables can still choose this; `gc` returns pages with it.
    if (identity.empty) connection.database().exec("PRAGMA auto_vacuum = INCREMENTAL");
    use_journal_mode(connection, journal_mode);
    if (identity.format >= static_cast<int>(migrations.size())) return;
    if (!identity.empty) copy_of_format(connection, identity.format);
    connection.database().exec("PRAGMA synchronous = FULL");
    apply(connection, migrations, identity.format);
    connection.database().exec("PRAGMA synchronous = NORMAL");
  });
}

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

void make_folder_of(const std::filesystem::path& file) {
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
                      std::filesystem::exists(file)
                          ? "it is empty: if it had runs, restore it from a copy; otherwise "
                            "the next run makes a store of it"
                          : "there is no store yet; a first run makes one, --store names another "
                            "place");
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
        "' is on a network file system and has no write-ahead log: readers and writers wait "
        "for each other, and exprun can tell only on this host whether a run is alive; use a "
        "local disk if you can (--store)");
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
    make_folder_of(file);
    if (up_to_date(identity, migrations, journal_mode)) {
      return std::make_unique<Connection>(file, Connection::Mode::read_write);
    }
  }
  make_folder_of(file);
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
