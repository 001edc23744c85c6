// Calls of a library that may hang: in a thread of their own, so that they cannot hold this rank.
#pragma once

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

namespace exprun {

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
