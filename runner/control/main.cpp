// exprun: the one place that catches, and the exit codes.
#include <cstdio>
#include <exception>

#include "base/diagnostic.h"
#include "control/command/dispatch.h"

namespace exprun {
namespace {

int as_int(ExitCode code) {
  return static_cast<int>(code);
}

// A full disk behind `exprun report > file` must not look like success.
int finish(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  throw Error("command line: standard output could not be written");
}

}  // namespace
}  // namespace exprun

int main(int argc, char** argv) {
  using namespace exprun;
  try {
    return finish(dispatch(Words(argv + 1, argv + argc)));
  } catch (const RecipeError& error) {
    std::fputs(error.what(), stderr);
    return as_int(ExitCode::bad_recipe);
  } catch (const Error& error) {
    log(LogLevel::error, error.what());
    return as_int(error.code());
  } catch (const std::bad_alloc&) {
    log(LogLevel::error, "out of memory");
    return as_int(ExitCode::failed);
  } catch (const std::exception& error) {
    log(LogLevel::error, std::string("this is a bug of exprun, please report it: ") + error.what());
    return as_int(ExitCode::failed);
  }
}
