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

// The numeric address of this machine that traffic to the host leaves from, by the routes of the
// kernel; nothing is sent. Throws Error when the host has no address or no route leads there.
std::string own_address_towards(const std::string& host);

// Whether other machines may reach it: a numeric address that is not the loopback's.
bool leads_elsewhere(const std::string& address);

// What one process opens and hands to another.
struct ListeningSocket {
  UniqueFd fd;  // close-on-exec
  uint16_t port = 0;
};

// On a free port of the loopback. Throws Error.
ListeningSocket listen_on_loopback();

// On that port of all interfaces, or a free one for 0, IPv4 and IPv6 alike where the machine has
// both. Throws Error, also when another process has the port.
ListeningSocket listen_on_all_interfaces(uint16_t port);

}  // namespace exprun
