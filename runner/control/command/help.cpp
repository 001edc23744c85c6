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
    "Changes of a recipe:\n"
    "  key=value      in TOML; text and periods need no quotes: warmup=\"20 steps\"\n"
    "  a.b.key=value  where a key alone names several\n"
    "  ~key           back to the default\n"
    "  +a.name.key=v  the same as without '+', for a table that you name\n"
    "\n"
    "Exit codes:\n"
    "  0 done, 1 failed, 2 bad recipe or usage, 3 diverged, 4 no such run, 5 store error,\n"
    "  6 sweep with failed trials, 75 preempted after saving, 130 and 143 interrupted after "
    "saving\n"
    "\n"
    "Environment:\n"
    "  EXPRUN_STORE   folder of runs\n"
    "  LIBTORCH       the LibTorch that ${libtorch} in paths means\n"
    "  NO_COLOR       no colours\n"
    "  EXPRUN_MIRROR  where `data fetch` looks first\n"
    "  XDG_CACHE_HOME folder of caches: plans, measured kernels\n"
    "\n"
    "Examples:\n"
    "  exprun recipes/quickstart.toml                   train; Ctrl-C saves, the same line "
    "continues\n"
    "  exprun recipes/quickstart.toml lr=3e-4           the same with another learning rate\n"
    "  exprun sweep recipes/quickstart.toml lr=1e-4,3e-4,1e-3\n"
    "  exprun report                                    compare what was run\n"
    "\n"
    "exprun COMMAND --help explains a command, exprun schema the keys of recipes.\n";

std::string command_lines() {
  size_t width = 0;
  for (const Command& command : commands())
    width = std::max(width, std::string(command.name).size());
  std::string text;
  for (const Command& command : commands()) {
    const std::string name = command.name;
    text += "  " + name + std::string(width + 2 - name.size(), ' ') + command.help + '\n';
  }
  return text;
}

}  // namespace

int run_help(const Words& words, const Globals& globals) {
  if (words == Words{"--list-options"}) {
    print("--store\n--quiet\n--verbose\n");
    return 0;
  }
  if (!words.empty() && !words[0].starts_with('-')) {
    if (words[0] == "RECIPE") return run_recipe({"--help"}, globals);
    for (const Command& command : commands())
      if (words[0] == command.name && command.run != run_help)
        return command.run({"--help"}, globals);
    if (words[0] != "help")
      throw Error("help: there is no command '" + words[0] + "'" + meant_command(words[0]),
                  ExitCode::bad_recipe);
  }
  print(kHead + command_lines() + kTail);
  return 0;
}

}  // namespace exprun
