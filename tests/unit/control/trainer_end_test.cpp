#include "control/launch/process/trainer_end.h"

#include <doctest/doctest.h>

#include <fstream>

#include "support/temporary_folder.h"

using namespace exprun;

TEST_CASE("last lines: what a library logs by itself, and its stack, is none of them") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "rank_1.log";
  CHECK(last_lines(file, 3).empty());
  std::ofstream(file) << "exprun: first\n"
                         "exprun: second\n"
                         "[W1122 04:11:13.126381791 socket.cpp:469] [c10d] waitForInput: failed\n"
                         "Exception raised from throwTimeoutError at /pytorch/socket.cpp:1030\n"
                         "frame #0: c10::Error::Error(c10::SourceLocation) + 0x9d\n"
                         "\n"
                         "[2026] is no head, nor is [W] or [Warning]\n"
                         "exprun: error: dist: rank 1 has lost the others\n";
  CHECK(last_lines(file, 3) ==
        std::vector<std::string>{"exprun: second", "[2026] is no head, nor is [W] or [Warning]",
                                 "exprun: error: dist: rank 1 has lost the others"});
}

TEST_CASE("end state: exit codes of the trainer and signals") {
  const auto exited = [](int code) { return end_state({code, std::nullopt}); };
  CHECK(exited(0) == RunState::finished);
  CHECK(exited(3) == RunState::diverged);
  CHECK(exited(75) == RunState::preempted);
  CHECK(exited(130) == RunState::interrupted);
  CHECK(exited(143) == RunState::interrupted);
  for (const int code : {1, 2, 5, 127}) CHECK(exited(code) == RunState::failed);
  const ChildEnd killed{std::nullopt, 9};
  CHECK(end_state(killed) == RunState::killed);
  CHECK(exit_status(killed) == 137);
  CHECK(signal_message(killed) == "ended by SIGKILL (kill -9, or out of memory)");
  CHECK(signal_message({0, std::nullopt}).empty());
}
