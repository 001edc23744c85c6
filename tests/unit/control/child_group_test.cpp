#include "control/launch/process/child_group.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cerrno>

#include "base/diagnostic.h"
#include "unit/control/shell_child.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

// Shell: leaves its number, for those who wait until it is gone.
std::string known_as(const std::string& file) {
  return "echo $$ > " + file + ".new; mv " + file + ".new " + file + "; ";
}

// Shell: until a process is gone that has left its number there, and its end has been taken.
std::string when_gone(const std::string& file) {
  return "until [ -f " + file + " ] && ! kill -0 $(cat " + file + ") 2> /dev/null; " +
         "do sleep 0.01; done; ";
}

}  // namespace

TEST_CASE("child group: it ends with its last child, as its first one did") {
  const Scratch scratch;
  const GroupEnd end = run_children(
      {shell(known_as(scratch.file("first")) + "exit 130"),
       shell(when_gone(scratch.file("first")) + ": > " + scratch.file("late") + "; exit 130")},
      ForwardedSignals());
  CHECK(end.child == 0);
  CHECK(end.end.exit_code == 130);
  CHECK_FALSE(end.was_told_to_stop);
  CHECK(fs::exists(scratch.file("late")));
}

TEST_CASE("child group: the cause is who died first, not who lost it or was killed for it") {
  const Scratch scratch;
  const std::string lost = "exit " + std::to_string(static_cast<int>(ExitCode::lost_ranks));
  const std::string first = known_as(scratch.file("one"));
  const std::string then = when_gone(scratch.file("one"));
  struct Case {
    std::vector<std::string> scripts;
    size_t child;
    ChildEnd end;
  };
  for (const Case& expected : {
           Case{{first + lost, then + "exit 5", lost}, 1, {5, {}}},
           Case{{then + lost, first + "kill -9 $$"}, 1, {{}, 9}},
           Case{{"exec sleep infinity", first + "exit 2", then + "exit 5"}, 1, {2, {}}},
           Case{{first + lost, then + "kill -9 $$"}, 1, {{}, 9}},
       }) {
    std::vector<ChildCommand> commands;
    for (const auto& script : expected.scripts) commands.push_back(shell(script));
    fs::remove(scratch.file("one"));
    const GroupEnd end = run_children(commands, ForwardedSignals());
    CHECK(end.child == expected.child);
    CHECK(end.end.exit_code == expected.end.exit_code);
    CHECK(end.end.signal == expected.end.signal);
  }
}

TEST_CASE("child group: one that hangs behind the others' good end does not hold the launcher") {
  GroupPatience patience;
  patience.behind_success = std::chrono::milliseconds(300);
  const GroupEnd end = run_children(
      {shell("exec sleep infinity"), shell("exit 130")}, ForwardedSignals(), [] {}, patience);
  CHECK(end.child == 1);
  CHECK(end.end.exit_code == 130);
}

TEST_CASE("child group: stop signals reach every child") {
  const StopSignals restored;
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
  const ChildCommand missing{{"/nowhere/exprun-trainer"}, {}, {}, false, {}};
  CHECK_THROWS_AS(run_children({shell("exec sleep infinity"), missing}, ForwardedSignals()), Error);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // there is no child
  CHECK(errno == ECHILD);
}
