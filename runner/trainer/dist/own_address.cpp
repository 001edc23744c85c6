#include "dist/own_address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/diagnostic.h"
#include "base/unique_fd.h"

namespace exprun {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses addresses_of(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), "9", &hints, &found);
  if (error)
    throw Error("dist: the address of " + host + " is unknown (" + ::gai_strerror(error) +
                "): give the address of rank 0's machine in numbers");
  return {found, ::freeaddrinfo};
}

}  // namespace

std::string own_address_towards(const std::string& host) {
  const Addresses found = addresses_of(host);
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
