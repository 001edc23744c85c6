// Where a host can be reached.
#pragma once

#include <netdb.h>

#include <memory>
#include <string>

namespace exprun {

// A list, as getaddrinfo makes it.
using HostAddresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Takes as long as resolving the name does. Throws Error when it has none.
HostAddresses addresses_of(const std::string& host);

}  // namespace exprun
