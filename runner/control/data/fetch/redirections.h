// Where a request may go, http and https, and where a server may send it on to: the same, and from
// https to https alone, so that nobody on the way can put another file in place.
#pragma once

#include <string>

#include "control/data/fetch/curl_library.h"

namespace exprun {

struct Redirections {
  const char* protocols;  // as CURLOPT_PROTOCOLS_STR takes them
  long bits;              // as CURLOPT_PROTOCOLS takes them
  const char* followed;   // for people, before "followed"
};

const Redirections& redirections_from(const std::string& address);

// Keeps the request too. Throws Error where this libcurl cannot be kept to them.
void keep_to(const Redirections& redirections, const CurlLibrary& curl, CURL* easy);

}  // namespace exprun
