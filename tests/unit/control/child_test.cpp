#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/diagnostic.h"
#include "base/exit_code.h"
#include "control/launch/capture.h"
#include "control/launch/child_group.h"

using namespace exprun;

namespace {

namespace fs = std::filesystem;

ChildCommand shell(const std::string& script) {
  ChildCommand command;
  command.words = {"/bin/sh", "-c", script};
  command.environment = {{"EXPRUN_TEST_VALUE", "7"}};
  return command;
}

ChildEnd run_child(const ChildCommand& command, const ForwardedSignals& signals) {
  return run_children({command}, signals).end;
}

ChildEnd run_script(const std::string& script, std::vector<int> kept_fds = {}) {
  const ForwardedSignals signals;
  ChildCommand command = shell(script);
  command.kept_fds = std::move(kept_fds);
  return run_child(command, signals);
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Waits for a file that a child makes, then does something.
template <class Action>
std::thread when_there(const fs::path& file, Action action) {
  return std::thread([=] {
    for (int i = 0; i < 2000 && !fs::exists(file); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    action();
  });
}

struct Scratch {
  fs::path path = fs::temp_directory_path() / ("exprun-child-" + std::to_string(::getpid()));
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
};

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
  const ForwardedSignals signals;
  ::kill(::getpid(), SIGTERM);
  const ChildCommand blind{{"/bin/sleep", "0.2"}, {}, {}, true, {}};  // never unblocks anything
  CHECK(run_child(blind, signals).exit_code == 0);
}

TEST_CASE("child: a hang-up asks it to end, and a signal before its start is not lost") {
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

TEST_CASE("child group: it ends with its last child, as its first one did") {
  const Scratch scratch;
  const GroupEnd end = run_children(
      {shell("exit 130"), shell("sleep 0.2; : > " + scratch.file("late") + "; exit 130")},
      ForwardedSignals());
  CHECK(end.child == 0);
  CHECK(end.end.exit_code == 130);
  CHECK_FALSE(end.was_told_to_stop);
  CHECK(fs::exists(scratch.file("late")));
}

TEST_CASE("child group: the cause is who died first, not who lost it or was killed for it") {
  const std::string lost = "exit " + std::to_string(static_cast<int>(ExitCode::lost_ranks));
  struct Case {
    std::vector<std::string> scripts;
    size_t child;
    ChildEnd end;
  };
  for (const Case& expected : {
           Case{{lost, "sleep 0.2; exit 5", lost}, 1, {5, {}}},
           Case{{"sleep 0.2; " + lost, "kill -9 $$"}, 1, {{}, 9}},
           Case{{"exec sleep 100", "exit 2", "sleep 0.1; exit 5"}, 1, {2, {}}},
           Case{{lost, "sleep 0.3; kill -9 $$"}, 1, {{}, 9}},
       }) {
    std::vector<ChildCommand> commands;
    for (const auto& script : expected.scripts) commands.push_back(shell(script));
    const auto start = std::chrono::steady_clock::now();
    const GroupEnd end = run_children(commands, ForwardedSignals());
    CHECK(end.child == expected.child);
    CHECK(end.end.exit_code == expected.end.exit_code);
    CHECK(end.end.signal == expected.end.signal);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  }
}

TEST_CASE("child group: one that hangs behind the others' good end does not hold the launcher") {
  const auto start = std::chrono::steady_clock::now();
  GroupPatience patience;
  patience.behind_success = std::chrono::milliseconds(300);
  const GroupEnd end = run_children(
      {shell("exec sleep 100"), shell("exit 130")}, ForwardedSignals(), [] {}, patience);
  CHECK(end.child == 1);
  CHECK(end.end.exit_code == 130);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("child group: stop signals reach every child") {
  const Scratch scratch;
  const auto script = [&](const char* ready) {
    return shell("trap 'exit 143' TERM; : > " + scratch.file(ready) +
                 "; while :; do sleep 0.02; done");
  };
  const ForwardedSignals signals;
  std::thread sender = when_there(scratch.file("one"), [&] {
    when_there(scratch.file("two"), [] { ::kill(::getpid(), SIGTERM); }).join();
  });
  const GroupEnd end = run_children({script("one"), script("two")}, signals);
  CHECK(end.end.exit_code == 143);
  CHECK(end.was_told_to_stop);
  sender.join();
}

TEST_CASE("child group: when one cannot be started, none runs") {
  const Scratch scratch;
  const ChildCommand missing{{"/nowhere/exprun-trainer"}, {}, {}, false, {}};
  CHECK_THROWS_AS(
      run_children({shell("sleep 0.5; : > " + scratch.file("alive")), missing}, ForwardedSignals()),
      Error);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  CHECK_FALSE(fs::exists(scratch.file("alive")));
}

TEST_CASE("capture: input, output and exit code") {
  const std::string long_input(300'000, 'x');
  const Captured captured = capture({"/bin/sh", "-c", "cat; exit 3"}, long_input);
  CHECK(captured.output == long_input);
  CHECK(captured.status == 3);
  CHECK(capture({"/bin/sh", "-c", "kill -9 $$"}, "").status == 137);
}
