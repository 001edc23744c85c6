#include "base/process/signals.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/diagnostic.h"

using namespace exprun;

namespace {

// Runs `body` in a child; its exit status, or minus the signal that ended it.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    watch_stop_signals();
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// Until the process has taken it.
void send(int signal) {
  ::kill(::getpid(), signal);
  sigset_t pending;
  do {
    ::usleep(1000);
    ::sigpending(&pending);
  } while (sigismember(&pending, signal) || stop_requested() == StopRequest::none);
}

int request_after(std::initializer_list<int> signals) {
  for (const int signal : signals) send(signal);
  return static_cast<int>(stop_requested());
}

// Of a process that the last signal ends.
int end_after(std::initializer_list<int> signals) {
  for (const int signal : signals) send(signal);
  return static_cast<int>(::sleep(60));
}

}  // namespace

TEST_CASE("signals: the first one is a request, to be polled") {
  CHECK(in_child([] { return request_after({}); }) == static_cast<int>(StopRequest::none));
  CHECK(in_child([] { return request_after({SIGINT}); }) ==
        static_cast<int>(StopRequest::interrupt));
  CHECK(in_child([] { return request_after({SIGTERM}); }) ==
        static_cast<int>(StopRequest::terminate));
  CHECK(in_child([] {
          return request_after({SIGUSR2, SIGUSR2});
        }) == static_cast<int>(StopRequest::preempt));
}

TEST_CASE("signals: none interrupts a thread that computes") {
  CHECK(in_child([] {
          sigset_t blocked;
          ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
          return sigismember(&blocked, SIGINT) + sigismember(&blocked, SIGTERM) +
                 sigismember(&blocked, SIGUSR2);
        }) == 3);
}

TEST_CASE("signals: a second one ends the process by that signal") {
  CHECK(in_child([] {
          send(SIGINT);
          ::usleep(350'000);
          return end_after({SIGINT});
        }) == -SIGINT);
  CHECK(in_child([] { return end_after({SIGINT, SIGTERM}); }) == -SIGTERM);
}

TEST_CASE("signals: one that arrives twice at once, by process and by group, is one request") {
  CHECK(in_child([] {
          return request_after({SIGTERM, SIGTERM});
        }) == static_cast<int>(StopRequest::terminate));
}

TEST_CASE("signals: a batch system's warning is not the first of two") {
  CHECK(in_child([] {
          return request_after({SIGUSR2, SIGTERM});
        }) == static_cast<int>(StopRequest::preempt));
}

TEST_CASE("signals: a request of our own comes first or is too late") {
  CHECK(in_child([] {
          request_stop(StopRequest::preempt);
          return request_after({SIGINT});
        }) == static_cast<int>(StopRequest::preempt));
}

TEST_CASE("signals: a warning before there is anything to save ends the process as preempted") {
  const pid_t child = ::fork();
  if (child == 0) {
    end_when_preempted();
    ::raise(SIGUSR2);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == static_cast<int>(ExitCode::preempted));
  CHECK(in_child([] {
          end_when_preempted();
          watch_stop_signals();
          return request_after({SIGUSR2});
        }) == static_cast<int>(StopRequest::preempt));
}
