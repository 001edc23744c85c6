#include "base/machine/network.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/diagnostic.h"

namespace exprun {
namespace {

// Whether the socket listens now; errno says why not.
template <class Address>
bool listens(int fd, const Address& address) {
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  return ::bind(fd, plain, sizeof address) == 0 && ::listen(fd, SOMAXCONN) == 0;
}

UniqueFd stream_socket(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;  // the port of an earlier process may still be in TIME_WAIT
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return fd;
}

sockaddr_in ipv4(in_addr_t host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  address.sin_port = htons(port);
  return address;
}

uint16_t port_of(int fd) {
  sockaddr_storage address{};  // the port is at the same place in both families
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(fd, plain, &size) != 0)
    throw Error(std::string("socket: its port is unknown: ") + std::strerror(errno));
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

UniqueFd listening_on_both(uint16_t port) {
  UniqueFd fd = stream_socket(AF_INET6);
  const int no = 0;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  if (!fd || ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0 ||
      !listens(fd.get(), address))
    return UniqueFd();
  return fd;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name = {};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

HostAddresses addresses_of(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;  // one entry an address
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), "9", &hints, &found))
    throw Error(
        "network: the address of " + host + " is unknown (" + ::gai_strerror(error) +
        "): give all ranks the name of rank 0's machine as others know it, or its address in "
        "numbers, by --rdzv-endpoint or, under an external launcher, MASTER_ADDR");
  return {found, ::freeaddrinfo};
}

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
  throw Error("network: cannot reach " + host + " (" + std::strerror(errno) +
              "); check the network");
}

bool leads_elsewhere(const std::string& address) {
  return !address.empty() && !address.starts_with("127.") && address != "::1";
}

ListeningSocket listen_on_loopback() {
  ListeningSocket socket{stream_socket(AF_INET), 0};
  if (!listens(socket.fd.get(), ipv4(INADDR_LOOPBACK, 0)))
    throw Error(std::string("socket: cannot listen on the loopback: ") + std::strerror(errno));
  socket.port = port_of(socket.fd.get());
  return socket;
}

ListeningSocket listen_on_all_interfaces(uint16_t port) {
  if (UniqueFd both = listening_on_both(port)) {
    const uint16_t own_port = port_of(both.get());
    return {std::move(both), own_port};
  }
  ListeningSocket socket{stream_socket(AF_INET), port};
  if (!listens(socket.fd.get(), ipv4(INADDR_ANY, port)))
    throw Error("socket: cannot listen on port " + std::to_string(port) +
                ", where the ranks are to meet: " + std::strerror(errno) +
                "; another job may have it: give all ranks another one, by --rdzv-endpoint or, "
                "under an external launcher, MASTER_PORT");
  socket.port = port_of(socket.fd.get());
  return socket;
}

}  // namespace exprun
