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
        "numbers, by --rdzv-endpoint or, under another launcher, MASTER_ADDR");
  return {found, ::freeaddrinfo};
}

ListeningSocket listen_on_loopback() {
  ListeningSocket socket{stream_socket(AF_INET), 0};
  sockaddr_in address = ipv4(INADDR_LOOPBACK, 0);
  socklen_t size = sizeof address;
  if (!listens(socket.fd.get(), address) ||
      ::getsockname(socket.fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw Error(std::string("socket: cannot listen on the loopback: ") + std::strerror(errno));
  socket.port = ntohs(address.sin_port);
  return socket;
}

ListeningSocket listen_on_all_interfaces(uint16_t port) {
  if (UniqueFd both = listening_on_both(port)) return {std::move(both), port};
  ListeningSocket socket{stream_socket(AF_INET), port};
  if (!listens(socket.fd.get(), ipv4(INADDR_ANY, port)))
    throw Error("socket: cannot listen on port " + std::to_string(port) +
                ", where the ranks are to meet: " + std::strerror(errno) +
                "; another job may have it: give all ranks another one, by --rdzv-endpoint or, "
                "under another launcher, MASTER_PORT");
  return socket;
}

}  // namespace exprun
