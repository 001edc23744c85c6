#include "base/process/emergency_reserve.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

using namespace exprun;

namespace {

constexpr size_t kReserve = size_t{32} << 20;

// Whether a process whose memory has reached its limit can get what was reserved.
bool can_map(size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

rlim_t address_space() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(::getpagesize());
}

}  // namespace

TEST_CASE("emergency reserve: a process at its limit has it once it is released") {
  const pid_t child = ::fork();
  if (child == 0) {
    EmergencyReserve reserve(kReserve);
    const rlimit limit{address_space(), address_space()};
    ::setrlimit(RLIMIT_AS, &limit);
    const bool before = can_map(kReserve);
    reserve.release();
    ::_exit(!before && can_map(kReserve) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}
