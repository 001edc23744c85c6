#include "base/machine/host_addresses.h"

#include <sys/socket.h>

#include "base/diagnostic.h"

namespace exprun {

HostAddresses addresses_of(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;  // one entry an address
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), "9", &hints, &found))
    throw Error(
        "network: the address of " + host + " is unknown (" + ::gai_strerror(error) +
        "): give all ranks the name of rank 0's machine as others know it, or its address in "
        "numbers, by --rdzv-endpoint or, under another launcher, MASTER_ADDR");
  return {found, ::freeaddrinfo};
}

}  // namespace exprun
