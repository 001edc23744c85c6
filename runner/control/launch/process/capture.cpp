#include "control/launch/process/capture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/diagnostic.h"
#include "base/unique_fd.h"
#include "control/launch/process/process_start.h"

namespace exprun {
namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error("launch: " + what + ": " + std::strerror(error));
}

// A file in memory: unlike a pipe it never blocks, and nobody has to be reading.
UniqueFd file_of(const std::string& input) {
  UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
  if (!file) fail("cannot make a file in memory", errno);
  for (size_t done = 0; done < input.size();) {
    const ssize_t wrote = ::write(file.get(), input.data() + done, input.size() - done);
    if (wrote < 0) fail("cannot write a file in memory", errno);
    done += static_cast<size_t>(wrote);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string read_at_most(int fd, size_t most) {
  std::string text;
  char buffer[16384];
  for (;;) {
    if (text.size() >= most) return text.substr(0, most);
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

// In the child. The program is to have it: dup2 clears FD_CLOEXEC, but of equal ones it does
// nothing, which they are where this process was started with that one closed.
void hand_over(int fd, int as) {
  if (fd == as)
    ::fcntl(fd, F_SETFD, 0);
  else
    ::dup2(fd, as);
}

// Nobody would read what it goes on to print.
pid_t spawn(const std::vector<std::string>& words, int input, int output, bool silent) {
  return start_process({words, own_environment(), SIGKILL, [=] {
                          hand_over(input, STDIN_FILENO);
                          hand_over(output, STDOUT_FILENO);
                          if (silent) hand_over(::open("/dev/null", O_WRONLY), STDERR_FILENO);
                        }});
}

}  // namespace

Captured capture(const std::vector<std::string>& words, const std::string& input,
                 const CaptureLimits& limits) {
  const UniqueFd stdin_file = file_of(input);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe", errno);
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = spawn(words, stdin_file.get(), writer.get(), limits.silent);
  writer = UniqueFd();
  Captured captured{0, read_at_most(reader.get(), limits.most_bytes)};
  reader = UniqueFd();  // who goes on writing ends by SIGPIPE
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  captured.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return captured;
}

}  // namespace exprun
