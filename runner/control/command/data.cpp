// exprun data COMMAND
#include "control/command/data.h"

#include "base/diagnostic.h"
#include "control/command/arguments.h"

namespace exprun {
namespace {

constexpr Command kDataCommands[] = {
    {"prepare", "turn text or JSON into token shards", run_data_prepare},
    {"fetch", "get a public data set, resumed and checked", run_data_fetch},
    {"info", "say what token shards hold", run_data_info},
    {"verify", "read every token and compare checksums", run_data_verify},
    {"head", "print the first tokens as text", run_data_head},
};

void print_help() {
  Arguments arguments("data COMMAND ...", "Prepares, fetches and looks at data.");
  for (const Command& command : kDataCommands) arguments.form(command.name, command.help);
  arguments.note("'exprun data COMMAND --help' says what each takes.")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun data fetch", "lists the public data sets")
      .example("exprun data prepare path=notes.txt --out data/notes", "token shards of a text")
      .parse({"--help"});
}

}  // namespace

std::span<const Command> data_commands() {
  return kDataCommands;
}

int run_data(const Words& words, const Globals& globals) {
  if (words.empty() || words[0] == "-h" || words[0] == "--help") {
    print_help();
    return 0;
  }
  if (const Command* command = find_command(kDataCommands, words[0]))
    return command->run({words.begin() + 1, words.end()}, globals);
  throw Error("data: there is no command '" + words[0] + "'" +
                  meant_command(kDataCommands, words[0], "exprun data --help"),
              ExitCode::bad_recipe);
}

}  // namespace exprun
