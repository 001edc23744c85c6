// That LibTorch asks no DNS for the names of who connects to a rendezvous.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <string>

TEST_CASE("rendezvous: libraries are told the addresses of peers, not their names") {
  // As a shared library finds it.
  const auto name_of =
      reinterpret_cast<decltype(&::getnameinfo)>(::dlsym(RTLD_DEFAULT, "getnameinfo"));
  REQUIRE((name_of != nullptr));
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(29);
  peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);  // which every machine knows as localhost
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  REQUIRE(name_of(reinterpret_cast<const sockaddr*>(&peer), sizeof peer, host.data(), host.size(),
                  port.data(), port.size(), NI_NUMERICSERV) == 0);
  CHECK(std::string(host.data()) == "127.0.0.1");
  CHECK(std::string(port.data()) == "29");
}
