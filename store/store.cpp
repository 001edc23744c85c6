#include "store/store.h"

#include "store/database/connection.h"
#include "store/database/open.h"
#include "store/metrics/metric_journal.h"

namespace exprun {

Store::Store(const std::filesystem::path& file, Access access)
    : connection_(open_store(file, access == Access::read_write ? Connection::Mode::read_write
                                                                : Connection::Mode::read_only)) {
  if (connection_->mode() == Connection::Mode::read_write) {
    take_in_journals(*connection_);
  }
}

Store::~Store() = default;
Store::Store(Store&&) noexcept = default;

bool Store::is_store(const std::filesystem::path& file) {
  Connection connection(file, Connection::Mode::read_only);
  const DatabaseIdentity identity = identify(connection);
  return identity.ours || identity.empty;
}

const std::filesystem::path& Store::file() const {
  return connection_->file();
}

}  // namespace exprun
