#include "control/launch/process/piped_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/diagnostic.h"
#include "control/launch/process/child_process.h"

namespace exprun {
namespace {

struct Ends {
  UniqueFd ours, theirs;
};

// A socket: writing to one whose other end is closed is an error that raises no signal.
Ends connected() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(std::string("launch: cannot make a socket: ") + std::strerror(errno));
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

PipedChild::PipedChild(const std::vector<std::string>& words,
                       const EnvironmentVariables& environment) {
  Ends input = connected(), output = connected();
  pid_ = start_process({words, environment_with(environment), SIGKILL, [&] {
                          pass_descriptor(input.theirs.get(), STDIN_FILENO);
                          pass_descriptor(output.theirs.get(), STDOUT_FILENO);
                        }});
  input_ = std::move(input.ours);
  output_ = std::move(output.ours);
}

PipedChild::~PipedChild() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  finish();
}

void PipedChild::write_line(std::string_view line) {
  const std::string sent = std::string(line) + '\n';
  for (size_t done = 0; done < sent.size();) {
    const ssize_t wrote =
        ::send(input_.get(), sent.data() + done, sent.size() - done, MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return;
    done += static_cast<size_t>(wrote);
  }
}

std::optional<std::string> PipedChild::read_line() {
  for (;;) {
    if (const size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t got = ::read(output_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    read_.append(buffer, static_cast<size_t>(got));
  }
}

int PipedChild::finish() {
  input_ = UniqueFd();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace exprun
