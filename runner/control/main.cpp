// exprun: the one place that catches, and the exit codes.
#include <csignal>
#include <cstdio>
#include <exception>

#include "base/diagnostic.h"
#include "base/terminal/console.h"
#include "control/command/command.h"

namespace exprun {
namespace {

// A full disk behind `exprun report > file` must not look like success.
int finish(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
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
