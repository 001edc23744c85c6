#include "control/command/dispatch.h"

#include "base/diagnostic.h"
#include "control/command/globals.h"

namespace exprun {

bool names_recipe(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".toml") || std::filesystem::exists(word, ignored);
}

int dispatch(Words words) {
  const Globals globals = take_globals(words);
  set_log_level(globals.level);
  if (words.empty() || words[0] == "-h" || words[0] == "--help") return run_help({}, globals);
  if (words[0] == "--version") return run_version({words.begin() + 1, words.end()}, globals);
  for (const Command& command : commands())
    if (words[0] == command.name) return command.run({words.begin() + 1, words.end()}, globals);
  if (words[0].starts_with('-') || !names_recipe(words[0]))
    throw Error("'" + words[0] + "' is no command and no recipe" + meant_command(words[0]),
                ExitCode::bad_recipe);
  return run_recipe(words, globals);
}

}  // namespace exprun
