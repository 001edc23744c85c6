#include "control/launch/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/diagnostic.h"
#include "base/unique_fd.h"

namespace exprun {
namespace {

// Everything is laid out before the fork: behind it only system calls are allowed.
struct Prepared {
  std::vector<std::string> environment;
  std::vector<char*> argv, envp;
  const char* log = nullptr;
};

Prepared prepare(const ChildCommand& command) {
  Prepared prepared;
  for (char** entry = environ; *entry; ++entry) prepared.environment.emplace_back(*entry);
  for (const auto& [name, value] : command.environment)
    if (!std::getenv(name.c_str())) prepared.environment.push_back(name + '=' + value);
  for (const std::string& word : command.words)
    prepared.argv.push_back(const_cast<char*>(word.c_str()));
  for (std::string& entry : prepared.environment) prepared.envp.push_back(entry.data());
  if (!command.log.empty()) prepared.log = command.log.c_str();
  prepared.argv.push_back(nullptr);
  prepared.envp.push_back(nullptr);
  return prepared;
}

// The last descriptor of every pipe and file but the kept ones closes at exec.
void keep_only(const std::vector<int>& fds) {
  ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);  // an older kernel: ours are opened so anyway
  for (const int fd : fds) ::fcntl(fd, F_SETFD, 0);
}

// Behind the fork too, so errors are left to the one who looks for the log.
void redirect(int fd, int to) {
  if (fd >= 0) ::dup2(fd, to);
}

[[noreturn]] void become(const Prepared& prepared, const ChildCommand& command, pid_t launcher,
                         const sigset_t& mask, int report_fd) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != launcher) ::_exit(1);  // it died before the kernel was told
  ::signal(SIGTTOU, SIG_IGN);               // `stty tostop` must not stop the trainer
  ::signal(SIGHUP, SIG_IGN);                // the launcher passes it on as SIGTERM
  redirect(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  if (prepared.log) {
    const int log = ::open(prepared.log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    redirect(log, STDOUT_FILENO);
    redirect(log, STDERR_FILENO);
  }
  keep_only(command.kept_fds);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execve(prepared.argv[0], prepared.argv.data(), prepared.envp.data());
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(report_fd, &error, sizeof error);
  ::_exit(127);
}

[[noreturn]] void cannot_start(const std::string& program, int error) {
  throw Error("launch: cannot start " + program + ": " + std::strerror(error));
}

sigset_t mask_of(const ChildCommand& command, sigset_t mask) {
  if (command.holds_stop_signals)
    for (const int signal : {SIGINT, SIGTERM, SIGUSR2}) sigaddset(&mask, signal);
  return mask;
}

}  // namespace

pid_t start_child(const ChildCommand& command, const ForwardedSignals& signals) {
  const sigset_t mask = mask_of(command, signals.former_mask());
  const Prepared prepared = prepare(command);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) cannot_start(command.words[0], errno);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t launcher = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) cannot_start(command.words[0], errno);
  if (child == 0) become(prepared, command, launcher, mask, writer.get());
  writer = UniqueFd();
  int error = 0;
  if (::read(reader.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(child, nullptr, 0);
    cannot_start(command.words[0], error);
  }
  return child;
}

std::optional<ChildEnd> take_end(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  if (WIFSIGNALED(status)) return ChildEnd{std::nullopt, WTERMSIG(status)};
  return ChildEnd{WEXITSTATUS(status), std::nullopt};
}

}  // namespace exprun
