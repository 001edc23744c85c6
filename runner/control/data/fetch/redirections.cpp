#include "control/data/fetch/redirections.h"

#include <strings.h>

#include <string_view>

#include "base/diagnostic.h"

namespace exprun {
namespace {

// The same by name and by bits.
struct Limit {
  CURLoption by_name, by_bits;
};

// By number: headers before 7.85 lack the names, and those since call the bits deprecated. The
// library may be older or newer than either.
constexpr Limit limit_of(int name, int bits) {
  return {static_cast<CURLoption>(CURLOPTTYPE_OBJECTPOINT + name),
          static_cast<CURLoption>(CURLOPTTYPE_LONG + bits)};
}

constexpr Limit kOfRequests = limit_of(318, 181), kOfRedirections = limit_of(319, 182);

constexpr Redirections kBehindHttps{"https", CURLPROTO_HTTPS, "behind https only https is"};
constexpr Redirections kBehindOthers{"http,https", CURLPROTO_HTTP | CURLPROTO_HTTPS,
                                     "only http and https are"};

bool is_kept(const Limit& limit, const Redirections& to, const CurlLibrary& curl, CURL* easy) {
  return curl.easy_setopt(easy, limit.by_name, to.protocols) == CURLE_OK ||
         curl.easy_setopt(easy, limit.by_bits, to.bits) == CURLE_OK;
}

}  // namespace

const Redirections& redirections_from(const std::string& address) {
  constexpr std::string_view kHttps = "https://";
  const bool is_https = ::strncasecmp(address.c_str(), kHttps.data(), kHttps.size()) == 0;
  return is_https ? kBehindHttps : kBehindOthers;
}

void keep_to(const Redirections& redirections, const CurlLibrary& curl, CURL* easy) {
  if (!is_kept(kOfRequests, kBehindOthers, curl, easy) ||
      !is_kept(kOfRedirections, redirections, curl, easy))
    throw Error("data fetch: this libcurl cannot be kept to http and https; install another one");
}

}  // namespace exprun
