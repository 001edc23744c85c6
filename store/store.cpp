#include "store/store.h"

#include "store/database/open.h"
#include "store/metrics/metric_journal.h"
#include "store/store_impl.h"

namespace exprun {

Store::Store(const std::filesystem::path& file, Access access) : impl_(std::make_unique<Impl>()) {
  const bool writes = access == Access::read_write;
  impl_->connection =
      open_store(file, writes ? Connection::Mode::read_write : Connection::Mode::read_only);
  if (impl_->connection->mode() == Connection::Mode::read_write) {
    take_in_journals(*impl_->connection);
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
  return impl_->connection->file();
}

}  // namespace exprun
