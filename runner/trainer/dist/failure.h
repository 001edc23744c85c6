// What c10d throws, as an Error that says what was tried; other errors pass.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/diagnostic.h"

namespace exprun {

// Throws Error with ExitCode::lost_ranks: "dist: <what>: <the first line of what LibTorch says>".
[[noreturn]] void throw_dist_error(const std::string& what, const std::exception& cause);

template <class Function>
auto dist_call(const std::string& what, Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const c10::OutOfMemoryError&) {  // the device's
    throw;
  } catch (const c10::AcceleratorError&) {  // a fault of this rank, not the loss of others
    throw;
  } catch (const std::exception& cause) {
    throw_dist_error(what, cause);
  }
}

}  // namespace exprun
