#include <doctest/doctest.h>
#include <sys/wait.h>

#include "control/launch/process/child_process.h"
#include "unit/control/shell_child.h"

using namespace exprun;
namespace fs = std::filesystem;

TEST_CASE("capture: input, output and exit code") {
  const std::string long_input(300'000, 'x');
  const Captured captured = capture({"/bin/sh", "-c", "cat; exit 3"}, long_input);
  CHECK(captured.output == long_input);
  CHECK(captured.status == 3);
  CHECK(capture({"/bin/sh", "-c", "kill -9 $$"}, "").status == 137);
}

TEST_CASE("capture: the program does not outlive who runs it, whatever signals it catches") {
  for (const int signal : {SIGKILL, SIGTERM}) {
    const Scratch scratch;
    const pid_t runner = ::fork();
    if (runner == 0) {
      ::signal(SIGTERM, SIG_DFL);
      capture({"/bin/sh", "-c",
               "trap '' INT TERM; echo $$ > " + scratch.file("pid.new") + "; mv " +
                   scratch.file("pid.new") + " " + scratch.file("pid") +
                   "; while :; do sleep 0.02; done"},
              "");
      ::_exit(0);
    }
    when_there(scratch.file("pid"), [=] { ::kill(runner, signal); }).join();
    ::waitpid(runner, nullptr, 0);
    const fs::path program = "/proc/" + text_of(scratch.file("pid"));
    const fs::path running = program.string().substr(0, program.string().find('\n')) + "/exe";
    std::error_code gone;
    for (int i = 0; i < 60'000 && !fs::read_symlink(running, gone).empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(fs::read_symlink(running, gone).empty());
  }
}
