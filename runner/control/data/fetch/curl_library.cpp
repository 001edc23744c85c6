#include "control/data/fetch/curl_library.h"

#include <dlfcn.h>

#include <string>

#include "base/diagnostic.h"

namespace exprun {
namespace {

void* opened() {
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  throw Error("data fetch: libcurl is not on this machine; install it (Debian: libcurl4)");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (!function)
    throw Error(std::string("data fetch: this libcurl has no ") + name + "; install another one");
}

CurlLibrary loaded() {
  void* library = opened();
  CurlLibrary curl{};
  find(library, "curl_global_init", curl.global_init);
  find(library, "curl_easy_init", curl.easy_init);
  find(library, "curl_easy_setopt", curl.easy_setopt);
  find(library, "curl_easy_perform", curl.easy_perform);
  find(library, "curl_easy_getinfo", curl.easy_getinfo);
  find(library, "curl_easy_cleanup", curl.easy_cleanup);
  find(library, "curl_easy_strerror", curl.easy_strerror);
  curl.global_init(CURL_GLOBAL_DEFAULT);
  return curl;
}

}  // namespace

const CurlLibrary& CurlLibrary::instance() {
  static const CurlLibrary curl = loaded();
  return curl;
}

}  // namespace exprun
