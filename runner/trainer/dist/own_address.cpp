#include "dist/own_address.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/diagnostic.h"
#include "base/machine/host_addresses.h"
#include "base/unique_fd.h"

namespace exprun {

std::string own_address_towards(const std::string& host) {
  const HostAddresses found = addresses_of(host);
  for (const addrinfo* entry = found.get(); entry; entry = entry->ai_next) {
    // Connecting a datagram socket only chooses the route.
    const UniqueFd fd(::socket(entry->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    char text[NI_MAXHOST];
    if (::connect(fd.get(), entry->ai_addr, entry->ai_addrlen) == 0 &&
        ::getsockname(fd.get(), address, &size) == 0 &&
        ::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      return text;
  }
  throw Error("dist: no way leads to " + host + " (" + std::strerror(errno) +
              "): check the network");
}

}  // namespace exprun
