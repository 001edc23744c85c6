#include "control/command/dispatch.h"

#include "base/diagnostic.h"
#include "control/command/globals.h"
#include "control/command/recipe_words.h"

namespace exprun {

int dispatch(Words words) {
  const Globals globals = take_globals(words);
  set_log_level(globals.level);
  if (words.empty() || words[0] == "-h" || words[0] == "--help") return run_help({}, globals);
  if (words[0] == "--version") return run_version({words.begin() + 1, words.end()}, globals);
  if (const Command* command = find_command(commands(), words[0]))
    return command->run({words.begin() + 1, words.end()}, globals);
  if (words[0].starts_with('-') || !names_recipe(words[0]))
    throw Error("'" + words[0] + "' is no command and no recipe" + meant_command(words[0]),
                ExitCode::bad_recipe);
  return run_recipe(words, globals);
}

}  // namespace exprun
