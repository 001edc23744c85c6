// What c10d throws, as an Error that says what was tried; other errors pass.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/diagnostic.h"
#include "dist/process_group.h"

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

// Whose fault it is when training fails after a collective that was aborted.

// What the function returns. A GPU whose collective was aborted may fail in words of its own, and
// LibTorch with it: where the group is not intact, its trouble is thrown instead
// (ProcessGroup::require_intact). Errors that exprun itself throws pass.
template <class Function>
auto with_true_cause(ProcessGroup& group, Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const Error&) {
    throw;
  } catch (const RecipeError&) {
    throw;
  } catch (const std::exception&) {
    group.require_intact();
    throw;
  }
}

// Calls of a library that may hang: in a thread of their own, so that they cannot hold this rank.

// The function's result, or nothing if it has not come in time, or when `is_in_vain` says so while
// it is awaited: its thread is then left behind. Throws what the function throws. Without the
// memory for a thread it is called here.
template <class Function, class IsInVain>
auto within(std::chrono::milliseconds patience, Function function, IsInVain is_in_vain)
    -> std::optional<decltype(function())> {
  constexpr std::chrono::milliseconds kLook{100};
  const auto late = std::chrono::steady_clock::now() + patience;
  using Task = std::packaged_task<decltype(function())()>;
  const auto task = std::make_shared<Task>(std::move(function));
  auto future = task->get_future();
  try {
    std::thread([task] { (*task)(); }).detach();
  } catch (const std::system_error&) {
    (*task)();
  }
  while (future.wait_until(std::min(late, std::chrono::steady_clock::now() + kLook)) !=
         std::future_status::ready)
    if (std::chrono::steady_clock::now() >= late || is_in_vain()) return std::nullopt;
  return future.get();
}

template <class Function>
auto within(std::chrono::milliseconds patience, Function function) {
  return within(patience, std::move(function), [] { return false; });
}

}  // namespace exprun
