#include "control/launch/process/process_start.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/diagnostic.h"
#include "base/unique_fd.h"

namespace exprun {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void cannot_start(const std::string& program, int error) {
  throw Error("launch: cannot start " + program + ": " + std::strerror(error));
}

// Everything is laid out before the fork: behind it only system calls are allowed.
[[noreturn]] void become(const ProcessStart& start, const std::vector<char*>& argv,
                         const std::vector<char*>& envp, pid_t launcher, int report_fd) {
  ::prctl(PR_SET_PDEATHSIG, start.at_launchers_death);
  if (::getppid() != launcher) ::_exit(1);  // it died before the kernel was told
  start.set_up();
  ::execvpe(argv[0], argv.data(), envp.data());
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(report_fd, &error, sizeof error);
  ::_exit(127);
}

// Waits until the child has become its program, which closes the pipe, or reports why it cannot. A
// signal that interrupts the wait says neither.
bool reports_error(int report_fd, int& error) {
  ssize_t count;
  while ((count = ::read(report_fd, &error, sizeof error)) < 0 && errno == EINTR) continue;
  return count == sizeof error;
}

}  // namespace

pid_t start_process(const ProcessStart& start) {
  const std::vector<char*> argv = pointers_to(start.words);
  const std::vector<char*> envp = pointers_to(start.environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) cannot_start(start.words[0], errno);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t launcher = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) cannot_start(start.words[0], errno);
  if (child == 0) become(start, argv, envp, launcher, writer.get());
  writer = UniqueFd();
  int error = 0;
  if (reports_error(reader.get(), error)) {
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
    cannot_start(start.words[0], error);
  }
  return child;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  return environment;
}

}  // namespace exprun
