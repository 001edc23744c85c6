#include "store/migrate.h"

#include <filesystem>
namespace exprun {
namespace {

int number(Connection& connection, const char* sql) {
  return connection.database().execAndGet(sql).getInt();
}

// The answer must be read back: SQLite refuses in silence.
void use_write_ahead_log(Connection& connection) {
  const std::string mode =
      connection.database().execAndGet("PRAGMA journal_mode = WAL").getString();
  if (mode == "wal") return;
  throw store_error("use a write-ahead log for", connection.file(),
                    "its file system does not allow one (journal mode stays '" + mode +
                        "'); choose a place on a local disk with --store");
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
    connection.database().exec(migrations[next].second);
  }
  connection.database().exec("PRAGMA application_id = " + std::to_string(kApplicationId) +
                             "; PRAGMA user_version = " + std::to_string(newest));
  transaction.commit();
}

}  // namespace

DatabaseIdentity identify(Connection& connection) {
  return connection.guarded("open", [&] {
    DatabaseIdentity identity;
    identity.empty = number(connection, "SELECT count(*) FROM sqlite_schema") == 0;
    identity.ours = number(connection, "PRAGMA application_id") == kApplicationId;
    identity.format = number(connection, "PRAGMA user_version");
    identity.write_ahead_log =
        connection.database().execAndGet("PRAGMA journal_mode").getString() == "wal";
    return identity;
  });
}

void migrate(Connection& connection, const Migrations& migrations) {
  connection.guarded("prepare", [&] {
    const DatabaseIdentity identity = identify(connection);
    // Only a database without tables can still choose this; `gc` returns pages with it.
    if (identity.empty) connection.database().exec("PRAGMA auto_vacuum = INCREMENTAL");
    use_write_ahead_log(connection);
    if (identity.format >= static_cast<int>(migrations.size())) return;
    if (!identity.empty) copy_of_format(connection, identity.format);
    connection.database().exec("PRAGMA synchronous = FULL");
    apply(connection, migrations, identity.format);
    connection.database().exec("PRAGMA synchronous = NORMAL");
  });
}

}  // namespace exprun
