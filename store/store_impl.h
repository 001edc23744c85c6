// What the files that implement Store share.
#pragma once

#include <memory>

#include "store/database/connection.h"
#include "store/store.h"

namespace exprun {

struct Store::Impl {
  std::unique_ptr<Connection> connection;
};

}  // namespace exprun
