#include "store/blobs.h"

#include "base/hash.h"
#include "store/database/connection.h"

namespace exprun {

int64_t keep_blob(Connection& connection, const std::string& content) {
  const std::string hash = hash_hex(content);
  Query(connection,
        "INSERT INTO blob (hash, content) VALUES (?, CAST(? AS BLOB)) ON CONFLICT DO NOTHING", hash,
        content)
      .run();
  Query id(connection, "SELECT id FROM blob WHERE hash = ?", hash);
  id.step();
  return id.integer(0);
}

void keep_run_blob(Connection& connection, int64_t run, const std::string& kind,
                   const std::string& content) {
  Query(connection, "INSERT OR REPLACE INTO run_blob (run, kind, blob) VALUES (?, ?, ?)", run, kind,
        keep_blob(connection, content))
      .run();
}

void keep_attempt_blob(Connection& connection, int64_t run, int64_t attempt,
                       const std::string& kind, const std::string& content) {
  if (content.empty()) return;
  Query(connection,
        "INSERT OR REPLACE INTO attempt_blob (run, attempt, kind, blob) VALUES (?, ?, ?, ?)", run,
        attempt, kind, keep_blob(connection, content))
      .run();
}

std::string attempt_blob(Connection& connection, int64_t run, int64_t attempt,
                         const std::string& kind) {
  Query blob(connection,
             "SELECT content FROM attempt_blob JOIN blob ON blob.id = attempt_blob.blob "
             "WHERE run = ? AND attempt = ? AND kind = ?",
             run, attempt, kind);
  return blob.step() ? blob.text(0) : std::string();
}

std::string run_blob(Connection& connection, int64_t run, const std::string& kind) {
  Query blob(connection,
             "SELECT content FROM run_blob JOIN blob ON blob.id = run_blob.blob "
             "WHERE run = ? AND kind = ?",
             run, kind);
  return blob.step() ? blob.text(0) : std::string();
}

}  // namespace exprun
