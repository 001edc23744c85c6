// Turns what c10d throws into an Error that says what was tried, and runs calls that may hang.
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

// The first line of what LibTorch, Gloo or NCCL say, without the place in their sources and the
// stack, and with NCCL's own last error.
std::string first_sentence(std::string text);

// To be called in a handler of `cause`. Throws Error with ExitCode::lost_ranks: "dist: <what>:
// <first_sentence>"; rethrows a fault of the device itself, which is no loss of other ranks.
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

// Returns what the function returns. After a collective was aborted, a GPU and LibTorch fail with
// errors of their own: where the group is not intact, its trouble is thrown in their place
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

// For calls of a library that may hang. Calls the function in a thread of its own, and returns its
// result, or nothing where it has not returned in time or `is_in_vain` becomes true while this
// waits: the thread is then left behind. Throws what the function throws. Where no thread can be
// had it is called in this one.
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
