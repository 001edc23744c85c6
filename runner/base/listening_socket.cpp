#include "base/listening_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/diagnostic.h"

namespace exprun {

ListeningSocket listen_on_loopback() {
  ListeningSocket socket{UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), 0};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.fd.get(), plain, size) != 0 || ::listen(socket.fd.get(), SOMAXCONN) != 0 ||
      ::getsockname(socket.fd.get(), plain, &size) != 0)
    throw Error(std::string("socket: cannot listen on the loopback: ") + std::strerror(errno));
  socket.port = ntohs(address.sin_port);
  return socket;
}

}  // namespace exprun
