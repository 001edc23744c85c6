#include "control/launch/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/process/signals.h"

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

// In the child, which shares the memory of its parent until it has become its program: only system
// calls are allowed, and what they are to get is laid out before. An error is left in `error`.
[[noreturn]] void become(const ProcessStart& start, const std::vector<char*>& argv,
                         const std::vector<char*>& envp, pid_t launcher, volatile int& error) {
  ::prctl(PR_SET_PDEATHSIG, start.at_launchers_death);
  if (::getppid() != launcher) ::_exit(1);  // it died before the kernel was told
  ::signal(SIGPIPE, SIG_DFL);               // which this process may ignore for itself
  start.set_up();
  ::execvpe(argv[0], argv.data(), envp.data());
  error = errno;
  ::_exit(127);
}

}  // namespace

// vfork() and not fork(): a sweep of many trials is large in memory, and to copy its page tables
// takes longer than all else. It returns when the child has become its program, or has ended.
pid_t start_process(const ProcessStart& start) {
  const std::vector<char*> argv = pointers_to(start.words);
  const std::vector<char*> envp = pointers_to(start.environment);
  const pid_t launcher = ::getpid();
  volatile int error = 0;
  const pid_t child = ::vfork();
  if (child == 0) become(start, argv, envp, launcher, error);
  if (child < 0) cannot_start(start.words[0], errno);
  if (error == 0) return child;
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  cannot_start(start.words[0], error);
}

std::vector<std::string> environment_with(const EnvironmentVariables& unless_set) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  for (const auto& [name, value] : unless_set)
    if (!std::getenv(name.c_str())) environment.push_back(name + '=' + value);
  return environment;
}

namespace {

// A shell that was told to ignore hang-ups (nohup) has told its children so.
bool ignored(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

void outlive_readers() {
  ::signal(SIGPIPE, SIG_IGN);
}

ForwardedSignals::ForwardedSignals(bool prunable) {
  ::signal(SIGCHLD, SIG_DFL);  // inherited as ignored, the end of a child could not be seen
  sigemptyset(&set_);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR2, SIGCHLD, SIGTSTP}) sigaddset(&set_, signal);
  if (!ignored(SIGHUP)) sigaddset(&set_, SIGHUP);
  if (prunable) sigaddset(&set_, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set_, &former_);
}

ForwardedSignals::~ForwardedSignals() {
  sigprocmask(SIG_SETMASK, &former_, nullptr);
}

// By the signal itself: the system ignores it in a process group that nobody would continue.
void suspend_self() {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTSTP);
  ::raise(SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &only, nullptr);
}

namespace {

std::vector<std::string> environment_of(const ChildCommand& command) {
  std::vector<std::string> environment = environment_with(command.environment);
  for (const auto& [name, value] : command.overriding) {
    std::erase_if(environment, [&](const auto& entry) { return entry.starts_with(name + '='); });
    environment.push_back(name + '=' + value);
  }
  return environment;
}

// The last descriptor of every pipe and file but the kept ones closes at exec.
void keep_only(const std::vector<int>& fds) {
  ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);  // an older kernel: ours are opened so anyway
  for (const int fd : fds) ::fcntl(fd, F_SETFD, 0);
}

// In the child too, so errors are left to the one who looks for the log.
void redirect(int fd, int to) {
  if (fd >= 0) ::dup2(fd, to);
}

cpu_set_t cpu_set_of(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
  return set;
}

// What the child gets is made before it.
struct SetUp {
  sigset_t mask;
  cpu_set_t cpus;
  UniqueFd input;
};

void set_up(const ChildCommand& command, const SetUp& with) {
  ::setpgid(0, 0);
  if (!command.cpus.empty()) ::sched_setaffinity(0, sizeof with.cpus, &with.cpus);
  ::signal(SIGTTOU, SIG_IGN);  // `stty tostop` must not stop the trainer
  ::signal(SIGHUP, SIG_IGN);   // the launcher passes it on as SIGTERM
  redirect(with.input ? with.input.get() : ::open("/dev/null", O_RDONLY), STDIN_FILENO);
  redirect(command.output, STDOUT_FILENO);
  redirect(command.output, STDERR_FILENO);
  if (!command.log.empty()) {
    const int log = ::open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    redirect(log, STDOUT_FILENO);
    redirect(log, STDERR_FILENO);
  }
  keep_only(command.kept_fds);
  ::sigprocmask(SIG_SETMASK, &with.mask, nullptr);
}

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

sigset_t mask_of(const ChildCommand& command, sigset_t mask) {
  if (command.holds_stop_signals)
    for (const int signal : {SIGINT, SIGTERM, SIGUSR2}) sigaddset(&mask, signal);
  return mask;
}

}  // namespace

pid_t start_child(const ChildCommand& command, const ForwardedSignals& signals) {
  const SetUp with{mask_of(command, signals.former_mask()), cpu_set_of(command.cpus),
                   command.input.empty() ? UniqueFd() : file_of(command.input)};
  return start_process(
      {command.words, environment_of(command), SIGTERM, [&] { set_up(command, with); }});
}

std::optional<ChildEnd> take_end(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  if (WIFSIGNALED(status)) return ChildEnd{std::nullopt, WTERMSIG(status)};
  return ChildEnd{WEXITSTATUS(status), std::nullopt};
}

// dup2 clears FD_CLOEXEC, but of equal ones it does nothing, which they are where this process was
// started with that one closed.
void pass_descriptor(int fd, int as) {
  if (fd == as)
    ::fcntl(fd, F_SETFD, 0);
  else
    ::dup2(fd, as);
}

namespace {

std::string read_at_most(int fd, size_t most, pid_t child) {
  constexpr int kLookMs = 100;
  std::string text;
  char buffer[16384];
  for (;;) {
    if (text.size() >= most) return text.substr(0, most);
    if (stop_requested() != StopRequest::none) ::kill(child, SIGKILL);
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, kLookMs) <= 0) continue;
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

// Nobody would read what it goes on to print.
pid_t spawn(const std::vector<std::string>& words, int input, int output,
            const CaptureOptions& options) {
  return start_process({words, environment_with(options.environment), SIGKILL, [=] {
                          pass_descriptor(input, STDIN_FILENO);
                          pass_descriptor(output, STDOUT_FILENO);
                          if (options.silent)
                            pass_descriptor(::open("/dev/null", O_WRONLY), STDERR_FILENO);
                        }});
}

}  // namespace

Captured capture(const std::vector<std::string>& words, const std::string& input,
                 const CaptureOptions& options) {
  const UniqueFd stdin_file = file_of(input);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe", errno);
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = spawn(words, stdin_file.get(), writer.get(), options);
  writer = UniqueFd();
  Captured captured{0, read_at_most(reader.get(), options.most_bytes, child)};
  reader = UniqueFd();  // who goes on writing ends by SIGPIPE
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  captured.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return captured;
}

}  // namespace exprun
