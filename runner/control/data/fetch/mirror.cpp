#include "control/data/fetch/mirror.h"

#include <strings.h>

#include <algorithm>
#include <string_view>

#include "base/diagnostic.h"

namespace exprun {
namespace {

bool starts_with_scheme(const std::string& address, std::string_view scheme) {
  return ::strncasecmp(address.c_str(), scheme.data(), scheme.size()) == 0 &&
         address.size() > scheme.size() && address[scheme.size()] != '/';
}

// USER:PASSWORD@HOST:PORT, or [ADDRESS]:PORT.
bool is_host(std::string_view start) {
  start.remove_prefix(start.rfind('@') + 1);
  start.remove_prefix(start.starts_with('[') ? std::min(start.find(']'), start.size()) : 0);
  const size_t colon = start.find(':');
  const std::string_view port = colon == start.npos ? "0" : start.substr(colon + 1);
  return !start.empty() && colon != 0 && !port.empty() &&
         port.find_first_not_of("0123456789") == port.npos;
}

// Where there is no scheme, curl takes http.
bool is_of_http(const std::string& address) {
  return is_host(address.substr(0, address.find('/'))) || starts_with_scheme(address, "http://") ||
         starts_with_scheme(address, "https://");
}

}  // namespace

Mirror Mirror::of(const std::string& option, const char* variable) {
  Mirror mirror{option, "--mirror"};
  if (option.empty() && variable) mirror = {variable, "EXPRUN_MIRROR"};
  if (!mirror.address.empty() && !is_of_http(mirror.address))
    throw Error("data fetch: " + mirror.named_by + " is '" + mirror.address +
                    "'; a mirror's address begins with http:// or https://, or with its host",
                ExitCode::bad_recipe);
  return mirror;
}

std::string Mirror::stands_for(const std::string& catalogued) const {
  if (address.empty()) return catalogued;
  const size_t end = address.find_last_not_of('/') + 1;
  return address.substr(0, end) +
         catalogued.substr(catalogued.find('/', catalogued.find("://") + 3));
}

std::string Mirror::elsewhere() const {
  if (address.empty()) return "give --mirror ADDRESS of another source";
  return "name another mirror than '" + address + "' (" + named_by + "), or none";
}

std::string Mirror::suspicion(bool is_usable) const {
  const std::string source = !address.empty() ? "the mirror sends it so"
                             : is_usable      ? "the file has changed at its source"
                                              : "it is so at its source";
  return source + ", or something in between (a proxy, a login page) answers; " + elsewhere() +
         (is_usable ? "; to take it as it is, only if you trust it, give --no-checksum" : "");
}

}  // namespace exprun
