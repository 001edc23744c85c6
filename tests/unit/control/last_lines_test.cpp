#include <doctest/doctest.h>

#include <fstream>

#include "control/launch/supervise.h"
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
