#include <doctest/doctest.h>

#include <cstdarg>
#include <string>

#include "base/diagnostic.h"
#include "control/data/fetch/redirections.h"

using namespace exprun;

namespace {

// A libcurl that knows some of the options, and what it was given.
struct FakeCurl {
  bool by_name, by_bits;
  std::string protocols, first_protocols;
  long bits = 0, first_bits = 0;
};

CURLcode fake_setopt(CURL* easy, CURLoption option, ...) {
  FakeCurl& fake = *static_cast<FakeCurl*>(easy);
  CURLcode result = CURLE_UNKNOWN_OPTION;
  va_list values;
  va_start(values, option);
  if ((option == 10318 || option == 10319) && fake.by_name) {
    (option == 10318 ? fake.first_protocols : fake.protocols) = va_arg(values, const char*);
    result = CURLE_OK;
  } else if ((option == 181 || option == 182) && fake.by_bits) {
    (option == 181 ? fake.first_bits : fake.bits) = va_arg(values, long);
    result = CURLE_OK;
  }
  va_end(values);
  return result;
}

FakeCurl kept(bool by_name, bool by_bits, const std::string& address) {
  CurlLibrary curl{};
  curl.easy_setopt = &fake_setopt;
  FakeCurl fake{by_name, by_bits, "", ""};
  keep_to(redirections_from(address), curl, &fake);
  return fake;
}

}  // namespace

TEST_CASE("redirections: https leads to https only, and anything else to http as well") {
  for (const char* address : {"https://host/file", "HTTPS://host"})
    CHECK(kept(true, true, address).protocols == "https");
  for (const char* address : {"http://host/https://", "host", "https", ""})
    CHECK(kept(true, true, address).protocols == "http,https");
}

TEST_CASE("redirections: a libcurl before 7.85 is told by bits") {
  CHECK(kept(false, true, "https://host").bits == 2);
  CHECK(kept(false, true, "http://host").bits == 3);
}

TEST_CASE("redirections: the request itself is kept to http and https") {
  for (const char* address : {"https://host", "host", "file:///host"}) {
    CHECK(kept(true, true, address).first_protocols == "http,https");
    CHECK(kept(false, true, address).first_bits == 3);
  }
}

TEST_CASE("redirections: a libcurl that takes neither is not used") {
  CHECK_THROWS_WITH_AS(kept(false, false, "https://host"),
                       "data fetch: this libcurl cannot be kept to http and https; install "
                       "another one",
                       Error);
}
