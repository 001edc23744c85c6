#include "base/process/signals.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <thread>

namespace exprun {
namespace {

std::atomic<int> first_request{0};
std::atomic<int> ending_signal{0};
std::atomic<int64_t> asked_at_ms{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

// `timeout` and batch systems signal a process and its group: one request that arrives twice.
constexpr int64_t kSameRequestMs = 300;

int64_t monotonic_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Whether this is a second request to end, and not the first one once more.
bool is_second(int signal) {
  const int64_t now = monotonic_ms();
  int none = 0;
  if (ending_signal.compare_exchange_strong(none, signal)) {
    asked_at_ms = now;
    return false;
  }
  return signal != none || now - asked_at_ms > kSameRequestMs;
}

// Dies of the signal itself, so that a shell sees 128 + N and a launcher sees that nothing was
// saved (an exit with 130 would say that the run was).
void die_of(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
}

// Only what is async-signal-safe: lock-free atomics, the clock and the calls of die_of.
void on_signal(int signal) {
  const int saved_errno = errno;
  if (signal == SIGUSR2) {
    request_stop(StopRequest::preempt);
  } else {
    if (is_second(signal)) die_of(signal);
    request_stop(signal == SIGINT ? StopRequest::interrupt : StopRequest::terminate);
  }
  errno = saved_errno;
}

// A thread that takes the signals, so that none interrupts one that computes: within oneDNN's
// kernels a handler was seen to corrupt memory. False where none can be had.
bool start_taker() try {
  std::thread([] {
    sigset_t all;
    sigfillset(&all);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR2}) sigdelset(&all, signal);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    for (;;) ::pause();
  }).detach();
  return true;
} catch (const std::system_error&) {
  return false;
}

void on_preemption(int) {
  ::_exit(static_cast<int>(ExitCode::preempted));
}

}  // namespace

void end_when_preempted() {
  ::signal(SIGUSR2, on_preemption);
}

void watch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR2}) {
    sigaction(signal, &action, nullptr);
    sigaddset(&watched, signal);
  }
  static const bool has_thread = start_taker();
  pthread_sigmask(has_thread ? SIG_BLOCK : SIG_UNBLOCK, &watched, nullptr);
}

StopRequest stop_requested() {
  return static_cast<StopRequest>(first_request.load());
}

bool take_interrupt() {
  int interrupt = static_cast<int>(StopRequest::interrupt);
  if (!first_request.compare_exchange_strong(interrupt, static_cast<int>(StopRequest::none)))
    return false;
  ending_signal = 0;
  return true;
}

ExitCode exit_code_of(StopRequest request) {
  switch (request) {
    case StopRequest::none:
      return ExitCode::done;
    case StopRequest::interrupt:
      return ExitCode::interrupted_int;
    case StopRequest::terminate:
      return ExitCode::interrupted_term;
    case StopRequest::preempt:
      break;
  }
  return ExitCode::preempted;
}

void request_stop(StopRequest request) {
  int none = 0;
  first_request.compare_exchange_strong(none, static_cast<int>(request));
}

}  // namespace exprun
