#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "control/data/fetch/mirror.h"

using namespace exprun;

TEST_CASE("mirror: it stands for the scheme and the host") {
  const std::string address = "https://host/a/b";
  CHECK(Mirror::of("", nullptr).stands_for(address) == address);
  CHECK(Mirror::of("", "").stands_for(address) == address);
  for (const char* mirror : {"http://other", "HTTPS://other", "other", "other:80", "me:key@other",
                             "[::1]", "[::1]:80", "ftp.other", "other/https://host"})
    for (const char* end : {"", "/", "//"})
      CHECK(Mirror::of(std::string(mirror) + end, nullptr).stands_for(address) ==
            std::string(mirror) + "/a/b");
}

TEST_CASE("mirror: the option goes before the variable") {
  CHECK(Mirror::of("a", "b").address == "a");
  CHECK(Mirror::of("a", "file:///b").named_by == "--mirror");
  CHECK(Mirror::of("", "b").named_by == "EXPRUN_MIRROR");
}

TEST_CASE("mirror: only http and https are taken") {
  for (const char* mirror :
       {"file:///b", "file:/b", "file:", "ftp://b", "httpx://b", "http:/b", "https://", "http:///b",
        "/b", "/", "ftp:x", "file:etc/x", "http:x/y", "other:", "me@:80", "[::1]:x"})
    CHECK_THROWS_WITH_AS(Mirror::of("", mirror),
                         ("data fetch: EXPRUN_MIRROR is '" + std::string(mirror) +
                          "'; a mirror's address begins with http:// or https://, or with its host")
                             .c_str(),
                         Error);
}

TEST_CASE("mirror: without one the source or the way is suspected") {
  const std::string suspected =
      ", or something in between (a proxy, a login page) answers; give --mirror ADDRESS of another "
      "source";
  CHECK(Mirror{}.suspicion(false) == "it is so at its source" + suspected);
  CHECK(Mirror{}.suspicion(true) ==
        "the file has changed at its source" + suspected +
            "; to take it as it is, only if you trust it, give --no-checksum");
}

TEST_CASE("mirror: one that is named is suspected first") {
  const std::string suspected =
      "the mirror sends it so, or something in between (a proxy, a login page) answers; name "
      "another mirror than 'http://host' (EXPRUN_MIRROR), or none";
  const Mirror mirror = Mirror::of("", "http://host");
  CHECK(mirror.suspicion(false) == suspected);
  CHECK(mirror.suspicion(true) ==
        suspected + "; to take it as it is, only if you trust it, give --no-checksum");
}
