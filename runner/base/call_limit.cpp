#include "base/call_limit.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/diagnostic.h"

#ifndef sigev_notify_thread_id  // older C libraries have no name for it
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace exprun {
namespace {

// A signal that comes just before the call would not interrupt it: so it comes again.
constexpr std::chrono::milliseconds kAgain{10};

timespec timespec_of(std::chrono::milliseconds duration) {
  return {duration.count() / 1000, duration.count() % 1000 * 1'000'000};
}

// Real-time signals are left to programs; this one does nothing but interrupt (no SA_RESTART).
int interrupting_signal() {
  static const int signal = [] {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGRTMAX - 1, &action, nullptr);
    return SIGRTMAX - 1;
  }();
  return signal;
}

void let_through(int signal) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

}  // namespace

CallLimit::CallLimit(std::chrono::milliseconds patience)
    : end_(std::chrono::steady_clock::now() + patience) {
  let_through(interrupting_signal());
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = interrupting_signal();
  event.sigev_notify_thread_id = ::gettid();
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
    throw Error(std::string("timer: cannot limit a wait: ") + std::strerror(errno));
  const itimerspec when{timespec_of(kAgain), timespec_of(patience)};
  ::timer_settime(timer_, 0, &when, nullptr);
}

CallLimit::~CallLimit() {
  ::timer_delete(timer_);
}

}  // namespace exprun
