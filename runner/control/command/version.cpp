// exprun --version
#include "base/process/program.h"
#include "control/command/command.h"
#include "control/command/line/arguments.h"
#include "control/report/standard_output.h"

namespace exprun {

int run_version(const Words& words, const Globals&) {
  Arguments arguments("version", "Prints the version.");
  arguments.exit_codes({ExitCode::done, ExitCode::bad_recipe})
      .example("exprun version", "the same as exprun --version");
  if (!arguments.parse(words)) return 0;
  print(std::string("exprun ") + version() + "\n");
  return 0;
}

}  // namespace exprun
