#include "control/launch/process/child_group.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "base/exit_code.h"
#include "unit/control/shell_child.h"

using namespace exprun;
namespace fs = std::filesystem;

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
           Case{{"exec sleep infinity", "exit 2", "sleep 0.1; exit 5"}, 1, {2, {}}},
           Case{{lost, "sleep 0.3; kill -9 $$"}, 1, {{}, 9}},
       }) {
    std::vector<ChildCommand> commands;
    for (const auto& script : expected.scripts) commands.push_back(shell(script));
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
  const Scratch scratch;
  const ChildCommand missing{{"/nowhere/exprun-trainer"}, {}, {}, false, {}};
  CHECK_THROWS_AS(
      run_children({shell("sleep 0.5; : > " + scratch.file("alive")), missing}, ForwardedSignals()),
      Error);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  CHECK_FALSE(fs::exists(scratch.file("alive")));
}
