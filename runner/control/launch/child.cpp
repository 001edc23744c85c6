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
};

Prepared prepare(const ChildCommand& command) {
  Prepared prepared;
  for (char** entry = environ; *entry; ++entry) prepared.environment.emplace_back(*entry);
  for (const auto& [name, value] : command.environment)
    if (!std::getenv(name.c_str())) prepared.environment.push_back(name + '=' + value);
  for (const std::string& word : command.words)
    prepared.argv.push_back(const_cast<char*>(word.c_str()));
  for (std::string& entry : prepared.environment) prepared.envp.push_back(entry.data());
  prepared.argv.push_back(nullptr);
  prepared.envp.push_back(nullptr);
  return prepared;
}

// The last descriptor of every pipe and file but the kept one closes at exec.
void keep_only(int fd) {
  ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);  // an older kernel: ours are opened so anyway
  if (fd >= 0) ::fcntl(fd, F_SETFD, 0);
}

[[noreturn]] void become(const Prepared& prepared, const ChildCommand& command, pid_t launcher,
                         const sigset_t& mask, int report_fd) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != launcher) ::_exit(1);  // it died before the kernel was told
  ::signal(SIGTTOU, SIG_IGN);               // `stty tostop` must not stop the trainer
  ::signal(SIGHUP, SIG_IGN);                // the launcher passes it on as SIGTERM
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  keep_only(command.kept_fd);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execve(prepared.argv[0], prepared.argv.data(), prepared.envp.data());
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(report_fd, &error, sizeof error);
  ::_exit(127);
}

[[noreturn]] void fail(const std::string& program, int error) {
  throw Error("launch: cannot start " + program + ": " + std::strerror(error));
}

sigset_t mask_of(const ChildCommand& command, sigset_t mask) {
  if (command.holds_stop_signals)
    for (const int signal : {SIGINT, SIGTERM, SIGUSR2}) sigaddset(&mask, signal);
  return mask;
}

pid_t start(const ChildCommand& command, const sigset_t& mask) {
  const Prepared prepared = prepare(command);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(command.words[0], errno);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t launcher = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) fail(command.words[0], errno);
  if (child == 0) become(prepared, command, launcher, mask, writer.get());
  writer = UniqueFd();
  int error = 0;
  if (::read(reader.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(child, nullptr, 0);
    fail(command.words[0], error);
  }
  return child;
}

std::optional<ChildEnd> ended(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  if (WIFSIGNALED(status)) return ChildEnd{std::nullopt, WTERMSIG(status)};
  return ChildEnd{WEXITSTATUS(status), std::nullopt};
}

void pass_on(pid_t child, int signal) {
  if (signal == SIGTSTP) {
    ::kill(child, SIGSTOP);
    ::raise(SIGSTOP);  // returns when the shell continues us
    ::kill(child, SIGCONT);
  } else {
    ::kill(child, signal == SIGHUP ? SIGTERM : signal);
  }
}

}  // namespace

ChildEnd run_child(const ChildCommand& command, const ForwardedSignals& signals) {
  const pid_t child = start(command, mask_of(command, signals.former_mask()));
  for (;;) {
    const int signal = ::sigwaitinfo(&signals.set(), nullptr);
    if (signal < 0) continue;  // interrupted by a signal outside the set
    if (signal != SIGCHLD) {
      pass_on(child, signal);
    } else if (const auto end = ended(child)) {
      return *end;
    }
  }
}

}  // namespace exprun
