// This machine in its network: its name, addresses of hosts, sockets that listen.
#pragma once

#include <netdb.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/files/file.h"

namespace exprun {

// What this machine calls itself.
std::string host_name();

// Where a host can be reached: a list, as getaddrinfo makes it.
using HostAddresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Takes as long as resolving the name does. Throws Error when it has none.
HostAddresses addresses_of(const std::string& host);

// What one process opens and hands to another.
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
