#include "base/files/file_lock.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "base/diagnostic.h"
#include "support/temporary_folder.h"

using namespace exprun;
using namespace std::chrono_literals;

namespace {

// A child that takes the lock, says so, and sleeps until it is killed.
pid_t hold_in_child(const std::filesystem::path& file) {
  int ready[2];
  REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock lock = FileLock::take(file);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  ::close(ready[0]);
  ::close(ready[1]);
  return child;
}

// The second byte, locked for as long as the descriptor lives: by one that waits (F_RDLCK), or by
// one that passes (F_WRLCK).
UniqueFd hold_gate(const std::filesystem::path& file, short type) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  struct flock gate = {};
  gate.l_type = type;
  gate.l_start = gate.l_len = 1;
  REQUIRE(::fcntl(fd.get(), F_OFD_SETLK, &gate) == 0);
  return fd;
}

bool gate_is_closed(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  struct flock gate = {};
  gate.l_type = F_WRLCK;
  gate.l_start = gate.l_len = 1;
  REQUIRE(::fcntl(fd, F_OFD_GETLK, &gate) == 0);
  ::close(fd);
  return gate.l_type != F_UNLCK;
}

void kill_and_wait(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace

TEST_CASE("file lock: one holder at a time, also within one process") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  {
    const auto first = FileLock::try_take(file);
    REQUIRE(first);
    CHECK(!FileLock::try_take(file));
    CHECK(FileLock::held(file));
  }
  CHECK(!FileLock::held(file));
  CHECK(FileLock::try_take(file));
}

TEST_CASE("file lock: asking neither makes nor takes the file") {
  const TemporaryFolder folder;
  CHECK(!FileLock::held(folder.path() / "none"));
  CHECK(!FileLock::held(folder.path() / "none" / "deeper"));
  CHECK(!std::filesystem::exists(folder.path() / "none"));
}

TEST_CASE("file lock: the kernel drops it at SIGKILL") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  const pid_t child = hold_in_child(file);
  CHECK(FileLock::held(file));
  CHECK(!FileLock::try_take(file));
  kill_and_wait(child);
  CHECK(!FileLock::held(file));
  CHECK(FileLock::try_take(file));
}

TEST_CASE("file lock: it lives as long as any copy of its descriptor") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  auto lock = FileLock::try_take(file);
  REQUIRE(lock);
  auto adopted = std::optional(FileLock::adopt(::dup(lock->fd())));
  lock.reset();
  CHECK(FileLock::held(file));
  adopted.reset();
  CHECK(!FileLock::held(file));
}

TEST_CASE("file lock: it is not inherited by another program") {
  const TemporaryFolder folder;
  const auto lock = FileLock::take(folder.path() / "lock");
  CHECK((::fcntl(lock.fd(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("file lock: a wait ends when the holder dies, or when patience does") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  const pid_t child = hold_in_child(file);
  const auto before = std::chrono::steady_clock::now();
  CHECK(!FileLock::take_within(file, 50ms));
  CHECK(std::chrono::steady_clock::now() - before >= 50ms);
  CHECK(!FileLock::take_within(file, 0ms));
  std::thread killer([&] {
    std::this_thread::sleep_for(50ms);
    kill_and_wait(child);
  });
  CHECK(FileLock::take_within(file, 300s));
  killer.join();
  // Whoever gave up above must not keep the lock that it still waited for.
  auto again = FileLock::take_within(file, 300s);
  CHECK(again);
}

TEST_CASE("file lock: a wait ends in time, however short, also where signals are blocked") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  const auto held = FileLock::take(file);
  for (int i = 0; i < 200; ++i) CHECK(!FileLock::take_within(file, 1ms));
  std::thread([&] {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    CHECK(!FileLock::take_within(file, 1ms));
  }).join();
}

TEST_CASE("file lock: who has waited for long goes before those who come later") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  std::string order;
  auto held = std::optional(FileLock::take(file));
  std::thread early([&] {
    const auto lock = FileLock::take_within(file, 300s);
    order += lock ? "early " : "never ";
  });
  for (int i = 0; i < 30'000 && !gate_is_closed(file); ++i) std::this_thread::sleep_for(10ms);
  held.reset();
  const auto again = FileLock::take_within(file, 300s);  // runs already, so it would be the first
  CHECK(again);
  CHECK(order == "early ");
  early.join();
  CHECK(!gate_is_closed(file));
}

TEST_CASE("file lock: a process stopped at the gate keeps nobody from a lock that is free") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  for (const short type : {F_RDLCK, F_WRLCK}) {
    const UniqueFd stopped = hold_gate(file, type);
    for (const auto patience : {0ms, 1ms, 100ms, 5000ms}) {
      CAPTURE(patience.count());
      CHECK(FileLock::take_within(file, patience));
    }
  }
}

TEST_CASE("file lock: a process stopped at the gate keeps nobody from waiting for the lock") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  for (const auto& [type, holding] :
       {std::pair{F_RDLCK, 300ms}, {F_WRLCK, 300ms}, {F_RDLCK, 700ms}, {F_WRLCK, 700ms}}) {
    const UniqueFd stopped = hold_gate(file, static_cast<short>(type));
    auto held = std::optional(FileLock::take(file));
    std::thread other([&, holding = holding] {
      std::this_thread::sleep_for(holding);
      held.reset();
    });
    const auto before = std::chrono::steady_clock::now();
    CHECK(FileLock::take_within(file, 300s));
    CHECK(std::chrono::steady_clock::now() - before < 30s);
    other.join();
  }
}

TEST_CASE("file lock: a signal does not end a wait") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  auto held = std::optional(FileLock::take(file));
  struct sigaction action {
  }, former{};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, &former);
  const pthread_t waiting = ::pthread_self();
  std::thread other([&] {
    for (int i = 0; i < 20; ++i) {
      ::pthread_kill(waiting, SIGUSR1);
      std::this_thread::sleep_for(2ms);
    }
    held.reset();
  });
  CHECK(FileLock::take_within(file, 300s));
  other.join();
  ::sigaction(SIGUSR1, &former, nullptr);
}

TEST_CASE("file lock: a file that cannot be opened is an error that names it") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "missing" / "lock";
  CHECK_THROWS_WITH_AS(
      FileLock::take(file),
      ("file: cannot open the lock file '" + file.string() + "': No such file or directory")
          .c_str(),
      Error);
}

TEST_CASE("transient lock: of processes that race for it one has it, and a killed one lets go") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  constexpr int kProcesses = 4, kTurns = 200;
  struct Shared {
    std::atomic<int> inside, turns;
  };
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto& shared = *new (memory) Shared{};
  int ready[2];
  REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
  const pid_t killed = ::fork();
  if (killed == 0) {
    const TransientLock lock = TransientLock::take(file);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK_FALSE(TransientLock::try_take(file));
  pid_t children[kProcesses];
  for (pid_t& child : children)
    if ((child = ::fork()) == 0) {
      for (int turn = 0; turn < kTurns; ++turn) {
        const TransientLock lock = TransientLock::take(file);
        if (shared.inside++ != 0) ::_exit(1);
        ++shared.turns;
        --shared.inside;
      }
      ::_exit(0);
    }
  CHECK(shared.turns == 0);
  kill_and_wait(killed);
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(shared.turns == kProcesses * kTurns);
  CHECK_FALSE(std::filesystem::exists(file));
  for (const int end : ready) ::close(end);
  ::munmap(memory, sizeof(Shared));
}
