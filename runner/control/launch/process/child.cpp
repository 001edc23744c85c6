#include "control/launch/process/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "control/launch/process/process_start.h"

namespace exprun {
namespace {

std::vector<std::string> environment_of(const ChildCommand& command) {
  std::vector<std::string> environment = own_environment();
  for (const auto& [name, value] : command.environment)
    if (!std::getenv(name.c_str())) environment.push_back(name + '=' + value);
  return environment;
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

void set_up(const ChildCommand& command, const sigset_t& mask) {
  ::setpgid(0, 0);
  ::signal(SIGTTOU, SIG_IGN);  // `stty tostop` must not stop the trainer
  ::signal(SIGHUP, SIG_IGN);   // the launcher passes it on as SIGTERM
  redirect(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  if (!command.log.empty()) {
    const int log = ::open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    redirect(log, STDOUT_FILENO);
    redirect(log, STDERR_FILENO);
  }
  keep_only(command.kept_fds);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

sigset_t mask_of(const ChildCommand& command, sigset_t mask) {
  if (command.holds_stop_signals)
    for (const int signal : {SIGINT, SIGTERM, SIGUSR2}) sigaddset(&mask, signal);
  return mask;
}

}  // namespace

pid_t start_child(const ChildCommand& command, const ForwardedSignals& signals) {
  const sigset_t mask = mask_of(command, signals.former_mask());
  return start_process(
      {command.words, environment_of(command), SIGTERM, [&] { set_up(command, mask); }});
}

std::optional<ChildEnd> take_end(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  if (WIFSIGNALED(status)) return ChildEnd{std::nullopt, WTERMSIG(status)};
  return ChildEnd{WEXITSTATUS(status), std::nullopt};
}

}  // namespace exprun
