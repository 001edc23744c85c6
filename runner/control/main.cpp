// exprun: the table of commands, the one place that catches, and the exit codes.
#include <cstdio>
#include <exception>

#include "base/diagnostic.h"
#include "control/command/dispatch.h"

namespace exprun {
namespace {

constexpr Command kCommands[] = {
    {"check", "find every mistake in a recipe, and show the plan of its run", run_check},
    {"show", "print a recipe or run with every default filled in", run_show},
    {"schema", "explain the keys of recipes", run_schema},
    {"new", "write a first recipe, to begin from", run_new},
    {"resume", "continue a run from its newest checkpoint", run_resume},
    {"eval", "run a run's evaluations on its newest checkpoint", run_eval},
    {"sample", "let a run's newest checkpoint write text", run_sample},
    {"sweep", "run every combination of key=a,b,c...", run_sweep},
    {"ls", "list the runs", run_ls},
    {"report", "compare runs: what was changed, and what came of it", run_report},
    {"query", "ask the store in SQL", run_query},
    {"doctor", "say what exprun sees of this machine and its store", run_doctor},
    {"completion", "print the completion script of a shell", run_completion},
    {"help", "explain a command", run_help},
    {"version", "print the version", run_version},
};

int as_int(ExitCode code) {
  return static_cast<int>(code);
}

// A full disk behind `exprun report > file` must not look like success.
int finish(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  throw Error("command line: standard output could not be written");
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

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
