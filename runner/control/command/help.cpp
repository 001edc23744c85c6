// exprun --help, exprun help COMMAND.
#include "base/diagnostic.h"
#include "control/command/command.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

constexpr const char* kHead =
    "exprun trains what a recipe says, records every run, resumes it exactly, and compares runs.\n"
    "\n"
    "Usage: exprun RECIPE [key=value...] [--new]    run a recipe, or continue its run\n"
    "       exprun COMMAND ...\n"
    "\n"
    "Commands:\n";

constexpr const char* kTail =
    "\n"
    "Options of every command:\n"
    "  --store DIR    folder of runs (default: EXPRUN_STORE, else runs/)\n"
    "  -q, --quiet    warnings and errors only\n"
    "  -v, --verbose  say more\n"
    "  -h, --help     what the command takes\n"
    "\n"
    "Examples:\n"
    "  exprun recipes/quickstart.toml                   train; Ctrl-C saves, the same line "
    "continues\n"
    "  exprun recipes/quickstart.toml lr=3e-4           the same with another learning rate\n"
    "  exprun sweep recipes/quickstart.toml lr=1e-4,3e-4,1e-3\n"
    "  exprun report                                    compare what was run\n";

}  // namespace

int run_help(const Words& words, const Globals& globals) {
  if (!words.empty() && !words[0].starts_with('-')) {
    if (words[0] == "RECIPE") return run_recipe({"--help"}, globals);
    for (const Command& command : commands())
      if (words[0] == command.name && command.run != run_help)
        return command.run({"--help"}, globals);
    if (words[0] != "help")
      throw Error("help: there is no command '" + words[0] + "'; see exprun --help",
                  ExitCode::bad_recipe);
  }
  std::string text = kHead;
  for (const Command& command : commands()) {
    std::string name = command.name;
    text += "  " + name + std::string(10 - name.size(), ' ') + command.help + '\n';
  }
  print(text + kTail);
  return 0;
}

}  // namespace exprun
