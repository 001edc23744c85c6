// What is refused, and as what.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "base/diagnostic.h"

namespace exprun {

// The message of the Error that `body` throws, which must have this exit code; "" if it throws
// none.
inline std::string refusal(ExitCode code, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "";
}

}  // namespace exprun
