// A socket that listens: what one process opens and hands to another.
#pragma once

#include <cstdint>

#include "base/unique_fd.h"

namespace exprun {

struct ListeningSocket {
  UniqueFd fd;  // close-on-exec
  uint16_t port = 0;
};

// On a free port of the loopback. Throws Error.
ListeningSocket listen_on_loopback();

// On that port of all interfaces, IPv4 and IPv6 alike where the machine has both. Throws Error,
// also when another process has the port.
ListeningSocket listen_on_all_interfaces(uint16_t port);

}  // namespace exprun
