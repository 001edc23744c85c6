#include "dist/failures/liveness.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>

namespace exprun {
namespace {

constexpr int kPatienceMs = 1000;

bool becomes(int fd, short event, int patience_ms) {
  pollfd polled{fd, event, 0};
  return ::poll(&polled, 1, patience_ms) > 0;
}

bool is_connected(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

// A machine that has lost its power, or its cable, sends nothing: its connections end a minute
// later.
void enable_keepalive(int fd) {
  using Option = std::array<int, 3>;  // level, name, value
  for (const auto& [level, name, value] :
       {Option{SOL_SOCKET, SO_KEEPALIVE, 1}, Option{IPPROTO_TCP, TCP_KEEPIDLE, 30},
        Option{IPPROTO_TCP, TCP_KEEPINTVL, 10}, Option{IPPROTO_TCP, TCP_KEEPCNT, 3}})
    ::setsockopt(fd, level, name, &value, sizeof value);
}

UniqueFd connected_to(const addrinfo& address) {
  UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  enable_keepalive(fd.get());
  const bool is_there = ::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0 ||
                        (errno == EINPROGRESS && becomes(fd.get(), POLLOUT, kPatienceMs));
  return is_there && is_connected(fd.get()) ? std::move(fd) : UniqueFd();
}

}  // namespace

bool Liveness::is_there() {
  if (!holds()) connect();
  return holds();
}

// Nothing is ever sent on it: what arrives is its end.
bool Liveness::holds() const {
  return connection_ && !becomes(connection_.get(), POLLIN | POLLRDHUP, 0);
}

void Liveness::connect() {
  connection_ = UniqueFd();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(host_.c_str(), std::to_string(port_).c_str(), &hints, &list) != 0) return;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(list, ::freeaddrinfo);
  for (const addrinfo* entry = list; entry && !connection_; entry = entry->ai_next)
    connection_ = connected_to(*entry);
}

}  // namespace exprun
