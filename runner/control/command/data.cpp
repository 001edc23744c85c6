// exprun data COMMAND
#include "control/command/data.h"

#include "base/diagnostic.h"
#include "base/suggest.h"
#include "control/report/terminal.h"

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
  std::string text =
      "Prepares, fetches and looks at data.\n\nUsage: exprun data COMMAND ...\n\nCommands:\n";
  for (const Command& command : kDataCommands) {
    const std::string name = command.name;
    text += "  " + name + std::string(10 - name.size(), ' ') + command.help + '\n';
  }
  print(text + "\n'exprun data COMMAND --help' says what each takes.\n");
}

}  // namespace

int run_data(const Words& words, const Globals& globals) {
  if (words.empty() || words[0] == "-h" || words[0] == "--help") {
    print_help();
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& command : kDataCommands) {
    if (words[0] == command.name) return command.run({words.begin() + 1, words.end()}, globals);
    names.emplace_back(command.name);
  }
  const auto near = nearest(words[0], names);
  throw Error("data: there is no command '" + words[0] + "'" +
                  (near ? ", did you mean '" + *near + "'?" : "; see exprun data --help"),
              ExitCode::bad_recipe);
}

}  // namespace exprun
