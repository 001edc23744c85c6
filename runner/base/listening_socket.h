// A socket that listens on a free port of the loopback: what one process opens and hands to
// another.
#pragma once

#include <cstdint>

#include "base/unique_fd.h"

namespace exprun {

struct ListeningSocket {
  UniqueFd fd;  // close-on-exec
  uint16_t port = 0;
};

// Throws Error.
ListeningSocket listen_on_loopback();

}  // namespace exprun
