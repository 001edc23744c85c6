#include "control/launch/process/child_process.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/diagnostic.h"
#include "control/launch/process/child_group.h"
#include "unit/control/shell_child.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

ChildEnd run_child(const ChildCommand& command, const ForwardedSignals& signals) {
  return run_children({command}, signals).end;
}

ChildEnd run_script(const std::string& script, std::vector<int> kept_fds = {}) {
  const ForwardedSignals signals;
  ChildCommand command = shell(script);
  command.kept_fds = std::move(kept_fds);
  return run_child(command, signals);
}

}  // namespace

TEST_CASE("child: exit code and death by a signal") {
  CHECK(run_script("exit 75").exit_code == 75);
  const ChildEnd killed = run_script("kill -9 $$");
  CHECK(!killed.exit_code);
  CHECK(killed.signal == 9);
}

TEST_CASE("child: a program that is not there is an error that names it") {
  const ForwardedSignals signals;
  CHECK_THROWS_WITH_AS(run_child({{"/nowhere/exprun-trainer"}, {}, {}, false, {}}, signals),
                       "launch: cannot start /nowhere/exprun-trainer: No such file or directory",
                       Error);
}

TEST_CASE("child: a signal that interrupts the start does not hide that it failed") {
  struct sigaction on_alarm {};
  on_alarm.sa_handler = [](int) {};  // without SA_RESTART: system calls end with EINTR
  struct sigaction before {};
  ::sigaction(SIGALRM, &on_alarm, &before);
  const itimerval soon = {{0, 0}, {0, 20'000}};
  ::setitimer(ITIMER_REAL, &soon, nullptr);
  const auto late = [] { ::usleep(200'000); };
  CHECK_THROWS_WITH_AS(start_process({{"/nowhere/exprun-trainer"}, {}, SIGTERM, late}),
                       "launch: cannot start /nowhere/exprun-trainer: No such file or directory",
                       Error);
  ::sigaction(SIGALRM, &before, nullptr);
}

TEST_CASE("child: environment is added, and never replaced") {
  CHECK(run_script("test \"$EXPRUN_TEST_VALUE\" = 7").exit_code == 0);
  ::setenv("EXPRUN_TEST_VALUE", "mine", 1);
  CHECK(run_script("test \"$EXPRUN_TEST_VALUE\" = mine").exit_code == 0);
  ::unsetenv("EXPRUN_TEST_VALUE");
}

TEST_CASE("child: only the descriptor that is handed over stays open") {
  const int leaked = ::open("/dev/null", O_RDONLY);
  const int kept = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const std::string look = "test -e /proc/self/fd/" + std::to_string(kept) +
                           " && test ! -e /proc/self/fd/" + std::to_string(leaked);
  CHECK(run_script(look, {kept}).exit_code == 0);
  ::close(leaked);
  ::close(kept);
}

TEST_CASE("child: stop signals are passed on, once each") {
  const StopSignals restored;
  const Scratch scratch;
  const std::string script = "trap 'echo x >> " + scratch.file("got") + "; exit 130' INT; : > " +
                             scratch.file("ready") + "; while :; do sleep 0.02; done";
  const ForwardedSignals signals;  // before the thread, which must have them blocked as well
  std::thread sender = when_there(scratch.file("ready"), [] { ::kill(::getpid(), SIGINT); });
  CHECK(run_child(shell(script), signals).exit_code == 130);
  sender.join();
  CHECK(fs::file_size(scratch.file("got")) == 2);
}

TEST_CASE("child: a stop signal waits for a child that cannot take it yet") {
  const StopSignals restored;
  const ForwardedSignals signals;
  ::kill(::getpid(), SIGTERM);
  const ChildCommand blind{{"/bin/sleep", "0.2"}, {}, {}, true, {}};  // never unblocks anything
  CHECK(run_child(blind, signals).exit_code == 0);
}

TEST_CASE("child: the second copy of a signal that comes behind its end kills nobody") {
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    {
      const ForwardedSignals signals;
      ::kill(::getpid(), SIGINT);
      run_child(shell("exec sleep 20"), signals);
    }
    ::kill(::getpid(), SIGINT);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(launcher, &status, 0);
  CHECK(WIFEXITED(status));
}

TEST_CASE("child: a hang-up asks it to end, and a signal before its start is not lost") {
  const StopSignals restored;
  ::signal(SIGHUP, SIG_DFL);  // nohup, under which it never comes
  const ForwardedSignals signals;
  ::kill(::getpid(), SIGHUP);
  const ChildEnd end = run_child(shell("sleep 20"), signals);
  CHECK(end.signal == SIGTERM);
}

TEST_CASE("child: it does not outlive its launcher") {
  const Scratch scratch;
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    run_script("trap 'echo saved > " + scratch.file("saved") + "; exit 143' TERM; : > " +
               scratch.file("ready") + "; while :; do sleep 0.02; done");
    ::_exit(0);
  }
  when_there(scratch.file("ready"), [=] { ::kill(launcher, SIGKILL); }).join();
  when_there(scratch.file("saved"), [] {}).join();
  CHECK(fs::exists(scratch.file("saved")));
  ::waitpid(launcher, nullptr, 0);
}

TEST_CASE("child: its outputs go behind what its log holds") {
  const Scratch scratch;
  std::ofstream(scratch.file("log")) << "before\n";
  ChildCommand command = shell("echo out; echo err >&2");
  command.log = scratch.file("log");
  CHECK(run_child(command, ForwardedSignals()).exit_code == 0);
  CHECK(text_of(scratch.file("log")) == "before\nout\nerr\n");
}
