// exprun: the one place that catches, and the exit codes.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "base/diagnostic.h"
#include "base/terminal/console.h"
#include "control/command/command.h"

namespace exprun {
namespace {

// Of a pipe: whoever closed it has read all that he wanted.
bool has_reader(int fd) {
  pollfd asked{fd, 0, 0};
  return ::poll(&asked, 1, 0) < 0 || !(asked.revents & POLLERR);
}

// A full disk behind `exprun report > file` must not look like success.
int finish(int code) {
  const bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (written || !has_reader(STDOUT_FILENO)) return code;
  throw Error("command line: standard output could not be written");
}

}  // namespace
}  // namespace exprun

int main(int argc, char** argv) {
  using namespace exprun;
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes (ulimit -f) is an error of its write
  try {
    return finish(dispatch(Words(argv + 1, argv + argc)));
  } catch (const std::exception& error) {
    return show_error(error);
  }
}
