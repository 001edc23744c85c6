#include "store/migrate.h"

#include <filesystem>

#include "base/atomic_file.h"
#include "store/file_system.h"

namespace exprun {
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

}  // namespace

std::string wanted_journal_mode(const std::filesystem::path& file) {
  return network_file_system(folder_of(file)).empty() ? "wal" : "delete";
}

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

}  // namespace exprun
