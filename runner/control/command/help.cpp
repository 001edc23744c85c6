// exprun --help, exprun help COMMAND.
#include "base/diagnostic.h"
#include "control/command/command.h"
#include "control/command/line/arguments.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

constexpr const char* kHead =
    "exprun trains models from recipes, records and resumes runs, and compares them.\n"
    "\n"
    "Usage: exprun RECIPE [key=value...] [--new]    run a recipe, or continue its run\n"
    "       exprun COMMAND ...\n"
    "\n"
    "Commands:\n";

constexpr const char* kOptions =
    "\n"
    "Options for every command:\n"
    "  --store DIR    folder of runs (default: EXPRUN_STORE, or runs/)\n"
    "  -q, --quiet    print only warnings and errors\n"
    "  -v, --verbose  print more\n"
    "  -h, --help     explain the command\n"
    "\n"
    "Overrides of a recipe's keys:\n"
    "  key=value      TOML; strings and durations need no quotes: warmup=\"20 steps\"\n"
    "  a.b.key=value  where the key alone is ambiguous\n"
    "  '~key'         reset to the default; the quotes protect ~ from the shell\n"
    "  +a.name.key=v  set a key of a table whose name you choose; '+' is optional\n"
    "\n"
    "Exit codes:\n";

constexpr const char* kTail =
    "\n"
    "Environment:\n"
    "  EXPRUN_STORE       folder of runs\n"
    "  EXPRUN_MIRROR      a server that `data fetch` downloads from instead\n"
    "  EXPRUN_RECORD_ENV  more variables to record with a run: NAME,PREFIX_*\n"
    "  LIBTORCH           LibTorch folder; replaces ${libtorch} in paths\n"
    "  NO_COLOR           no colors\n"
    "  XDG_CACHE_HOME     folder for caches: plans, kernel choices\n"
    "\n"
    "Examples:\n"
    "  exprun recipes/quickstart.toml            train; Ctrl-C saves and stops; run\n"
    "                                            the same command to continue\n"
    "  exprun recipes/quickstart.toml lr=3e-4    with a different learning rate\n"
    "  exprun sweep recipes/quickstart.toml lr=1e-4,3e-4,1e-3\n"
    "  exprun report                             compare the runs\n"
    "\n"
    "exprun COMMAND --help explains a command; exprun schema explains recipe keys.\n";

std::string exit_code_line(std::string code, const char* meaning) {
  code.resize(15, ' ');
  return "  " + code + meaning + '\n';
}

std::string exit_code_lines() {
  std::string lines;
  for (const ExitCode code : kEveryExitCode)
    lines += exit_code_line(std::to_string(static_cast<int>(code)), meaning(code));
  return lines + exit_code_line(kKilled, kMeaningOfKilled);
}

// The first word is a command; the second one of a command that has some.
Words offered_commands(const Typed& typed) {
  const Command* command =
      typed.before.empty() ? nullptr : find_command(commands(), typed.before[0]);
  if (!typed.before.empty() && (!command || !command->subcommands || typed.before.size() > 1))
    return {};
  Words names;
  for (const Command& each : command ? command->subcommands() : commands())
    names.emplace_back(each.name);
  return names;
}

int explain(Words names, const Globals& globals) {
  const std::string name = names[0];
  names.erase(names.begin());
  const Command* command = find_command(commands(), name);
  const bool explains = name == "RECIPE" || command;
  if (!explains)
    throw Error("help: there is no command '" + name + "'" + meant_command(name),
                ExitCode::bad_recipe);
  if (!names.empty() && !(command && command->subcommands))
    throw Error("help: '" + name + "' has no commands of its own", ExitCode::bad_recipe);
  names.push_back("--help");
  return command ? command->run(names, globals) : run_recipe(names, globals);
}

}  // namespace

int run_help(const Words& words, const Globals& globals) {
  Words names;
  Arguments arguments("help [COMMAND...]", "Explains a command, or lists all commands.");
  arguments
      .words("COMMAND...", names,
             "the name of a command, such as sweep or 'data prepare'; the word RECIPE explains how "
             "to run a recipe",
             offered_commands)
      .exit_codes({ExitCode::done, ExitCode::bad_recipe})
      .example("exprun help sweep", "the same as exprun sweep --help")
      .example("exprun help data prepare", "a subcommand");
  if (!arguments.parse(words)) return 0;
  if (names.empty()) {
    print(kHead + command_lines(commands()) + kOptions + exit_code_lines() + kTail);
    return 0;
  }
  return explain(names, globals);
}

}  // namespace exprun
