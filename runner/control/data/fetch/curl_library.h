// libcurl, opened when it is first needed: other commands start without it and the libraries that
// it brings.
#pragma once

#include <curl/curl.h>

namespace exprun {

struct CurlLibrary {
  // Throws Error where it is not on this machine.
  static const CurlLibrary& instance();

  CURLcode (*global_init)(long);
  CURL* (*easy_init)();
  CURLcode (*easy_setopt)(CURL*, CURLoption, ...);
  CURLcode (*easy_perform)(CURL*);
  CURLcode (*easy_getinfo)(CURL*, CURLINFO, ...);
  void (*easy_cleanup)(CURL*);
  const char* (*easy_strerror)(CURLcode);
};

}  // namespace exprun
