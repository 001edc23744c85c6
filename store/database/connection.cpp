#include "store/database/connection.h"

#include <sqlite3.h>

#include <algorithm>
#include <exception>

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
             "); move it aside and recover what is readable with: sqlite3 FILE .recover";
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

namespace {

constexpr int kBusyTimeoutMs = 10'000;   // only programs that ignore the lock make us wait here
constexpr int kCheckpointPages = 1'000;  // 4 MB of WAL

// A checkpoint syncs twice, so it is tried when the WAL passes another kCheckpointPages and not at
// every commit: a reader may keep the WAL from being begun anew for minutes. Readers that come
// without a break would do so for ever; a long WAL is worth waiting for them, whose statements take
// well under a millisecond.
constexpr int kLongWalPages = 4'000;
constexpr int kReaderPatienceMs = 200;  // one may have been put off the processor

int flags(Connection::Mode mode) {
  const int access =
      mode == Connection::Mode::read_write ? SQLite::OPEN_READWRITE : SQLite::OPEN_READONLY;
  return access | SQLite::OPEN_NOMUTEX | SQLite::OPEN_URI;  // a URI may be attached
}

// An archived store lies where no WAL index can be made, and a full disk has no room for one: so
// nobody else has one either, and without a WAL nobody writes to it.
std::unique_ptr<SQLite::Database> open_unchangeable(const std::filesystem::path& file) {
  return std::make_unique<SQLite::Database>(database_uri(file, "immutable=1"),
                                            flags(Connection::Mode::read_only));
}

bool needs_a_wal_index(SQLite::Database& database) {
  if (database.tryExec("SELECT count(*) FROM sqlite_schema") == SQLITE_OK) return false;
  const int code = database.getExtendedErrorCode(), kind = code & 0xff;
  return kind == SQLITE_CANTOPEN || kind == SQLITE_READONLY || code == SQLITE_IOERR_SHMSIZE ||
         code == SQLITE_IOERR_SHMOPEN;
}

// An empty one is what SQLite has made before it found no room for the index.
bool has_wal(const std::filesystem::path& file) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(file.string() + "-wal", missing);
  return !missing && size > 0;
}

// SQLite would count all memory under one lock of the process, which threads with connections of
// their own would wait for at every page that they read.
void count_no_memory() {
  static const int kCode = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(kCode);  // refused where a database was opened before: then it counts
}

std::unique_ptr<SQLite::Database> open_database(const std::filesystem::path& file,
                                                Connection::Mode mode) {
  count_no_memory();
  auto database = std::make_unique<SQLite::Database>(std::filesystem::absolute(file).string(),
                                                     flags(mode), kBusyTimeoutMs);
  if (mode == Connection::Mode::read_only && needs_a_wal_index(*database) && !has_wal(file))
    return open_unchangeable(file);
  return database;
}

std::filesystem::path lock_file(const std::filesystem::path& database) {
  return database.string() + ".lock";
}

// Since it was asked before.
int pages_written(sqlite3* handle) {
  int pages = 0, highest = 0;
  sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, /*resetFlg=*/1);
  return pages;
}

int remember_wal_pages(void* pages, sqlite3*, const char*, int count) {
  *static_cast<int*>(pages) = count;
  return SQLITE_OK;
}

}  // namespace

std::string database_uri(const std::filesystem::path& file, const std::string& parameters) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(file).string()) {
    if (c == '%' || c == '?' || c == '#') {
      static constexpr char kDigits[] = "0123456789ABCDEF";
      uri += {'%', kDigits[(c >> 4) & 15], kDigits[c & 15]};
    } else {
      uri += c;
    }
  }
  return uri + '?' + parameters;
}

FileLock lock_store(const std::filesystem::path& database, const std::string& action,
                    std::chrono::milliseconds patience) {
  const std::filesystem::path file = lock_file(database);
  try {
    if (auto lock = FileLock::take_within(file, patience)) return std::move(*lock);
  } catch (const Error& error) {
    throw store_error(action, database, error.what());
  }
  throw store_error(action, database,
                    "other processes have locked " + file.filename().string() + " for " +
                        std::to_string(patience.count() / 1000) +
                        " s; look for a stopped process (lslocks)");
}

Connection::Connection(std::filesystem::path file, Mode mode)
    : file_(std::move(file)), mode_(mode) {
  guarded("open", [&] {
    database_ = open_database(file_, mode_);
    configure();
  });
}

// The last connection to close moves the WAL into the database, which needs the lock; a reader,
// or a writer that does not get the lock, leaves that to the next writer.
Connection::~Connection() {
  statements_.clear();
  if (mode_ == Mode::read_only) return;
  try {
    if (const auto lock = FileLock::take_within(lock_file(file_), std::chrono::seconds(1))) {
      sqlite3_db_config(database_->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
      database_.reset();
    }
  } catch (const std::exception&) {
    // The folder is gone or cannot be written to: there is nothing to tidy up.
  }
}

struct Connection::RowVisitor {
  const VisitRow& visit;
  std::exception_ptr failure;  // SQLite is C, and nothing is thrown through it

  static void on_row(sqlite3_context* context, int, sqlite3_value** values) {
    RowVisitor* const visitor = static_cast<Connection*>(sqlite3_user_data(context))->visitor_;
    if (!visitor) return sqlite3_result_error(context, "each_row() is exprun's own", -1);
    try {
      visitor->visit(values);
    } catch (...) {
      visitor->failure = std::current_exception();
      sqlite3_result_error(context, "a row was refused", -1);
    }
  }
  static void at_end(sqlite3_context* context) { sqlite3_result_null(context); }
};

void Connection::each_row(SQLite::Statement& statement, const VisitRow& visit) {
  RowVisitor visitor{visit, nullptr};
  visitor_ = &visitor;
  const int code = statement.tryExecuteStep();
  visitor_ = nullptr;
  if (visitor.failure) std::rethrow_exception(visitor.failure);
  if (code != SQLITE_ROW) throw SQLite::Exception(database_->getHandle(), code);
}

void Connection::configure() {
  sqlite3* handle = database_->getHandle();
  sqlite3_create_function_v2(handle, "each_row", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, this, nullptr,
                             RowVisitor::on_row, RowVisitor::at_end, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_wal_hook(handle, remember_wal_pages, &wal_pages_);  // in place of automatic checkpoints
  // Readers see most pages once: for them to take new memory for each costs more than it saves.
  if (mode_ == Mode::read_write) database_->exec("PRAGMA cache_size = -16384");
  database_->exec(
      "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;"
      "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 67108864");
}

SQLite::Statement& Connection::prepared(std::string_view sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return *found->second;
  auto statement = std::make_unique<SQLite::Statement>(*database_, std::string(sql));
  return *statements_.emplace(sql, std::move(statement)).first->second;
}

FileLock Connection::lock(const std::string& action) const {
  if (!read_only_reason_.empty()) throw store_error(action, file_, read_only_reason_);
  return lock_store(file_, action, patience_);
}

void Connection::always_sync() {
  always_synced_ = true;
}

void Connection::set_durability(Durability durability) {
  if (always_synced_) durability = Durability::synced;
  if (durability == durability_) return;
  database_->exec(durability == Durability::synced ? "PRAGMA synchronous = FULL"
                                                   : "PRAGMA synchronous = NORMAL");
  durability_ = durability;
}

bool Connection::file_has_moved() const {
  int moved = 0;
  sqlite3_file_control(database_->getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved != 0;
}

Connection::WriteScope::WriteScope(Connection& connection, const std::string& action,
                                   Durability durability)
    : connection_(connection), lock_(connection.lock(action)) {
  connection_.set_durability(durability);
  pages_written(connection_.database_->getHandle());
}

// What was committed stays committed when this fails: the next writer tries again.
Connection::WriteScope::~WriteScope() {
  sqlite3* const handle = connection_.database_->getHandle();
  const int pages = connection_.wal_pages_;
  const int pages_before = std::max(0, pages - pages_written(handle));
  if (pages / kCheckpointPages == pages_before / kCheckpointPages) return;
  const bool begin_anew = pages >= kLongWalPages;
  if (begin_anew) sqlite3_busy_timeout(handle, kReaderPatienceMs);
  sqlite3_wal_checkpoint_v2(handle, "main",
                            begin_anew ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE,
                            nullptr, nullptr);
  if (begin_anew) sqlite3_busy_timeout(handle, kBusyTimeoutMs);
}

}  // namespace exprun
