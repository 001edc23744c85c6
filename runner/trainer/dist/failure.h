// What c10d throws, as an Error that says what was tried; other errors pass.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/diagnostic.h"

namespace exprun {

// Of what LibTorch, Gloo or NCCL say: without the place in their sources and the stack, and with
// NCCL's own last error.
std::string first_sentence(std::string text);

// In a handler of `cause`. Throws Error with ExitCode::lost_ranks: "dist: <what>: <the first line
// of what LibTorch says>"; a device's own fault, which is not the loss of other ranks, passes as it
// is.
[[noreturn]] void throw_dist_error(const std::string& what, const std::exception& cause);

template <class Function>
auto dist_call(const std::string& what, Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& cause) {
    throw_dist_error(what, cause);
  }
}

}  // namespace exprun
