#include "control/data/fetch/redirections.h"

#include <strings.h>

#include <string_view>

#include "base/diagnostic.h"

namespace exprun {
namespace {

// By number: headers before 7.85 lack the first, and those since call the second deprecated. The
// library may be older or newer than either.
constexpr auto kRedirectionsByName = static_cast<CURLoption>(CURLOPTTYPE_OBJECTPOINT + 319);
constexpr auto kRedirectionsByBits = static_cast<CURLoption>(CURLOPTTYPE_LONG + 182);

constexpr Redirections kBehindHttps{"https", CURLPROTO_HTTPS, "behind https only https is"};
constexpr Redirections kBehindOthers{"http,https", CURLPROTO_HTTP | CURLPROTO_HTTPS,
                                     "only http and https are"};

}  // namespace

const Redirections& redirections_from(const std::string& address) {
  constexpr std::string_view kHttps = "https://";
  const bool is_https = ::strncasecmp(address.c_str(), kHttps.data(), kHttps.size()) == 0;
  return is_https ? kBehindHttps : kBehindOthers;
}

void keep_to(const Redirections& redirections, const CurlLibrary& curl, CURL* easy) {
  if (curl.easy_setopt(easy, kRedirectionsByName, redirections.protocols) != CURLE_OK &&
      curl.easy_setopt(easy, kRedirectionsByBits, redirections.bits) != CURLE_OK)
    throw Error(
        "data fetch: this libcurl cannot be kept from following a server to other protocols than "
        "http and https; install another one");
}

}  // namespace exprun
