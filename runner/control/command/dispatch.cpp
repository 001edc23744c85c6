#include "control/command/dispatch.h"

#include "base/diagnostic.h"
#include "base/synonyms.h"
#include "control/command/globals.h"
#include "control/command/recipe_words.h"

namespace exprun {

namespace {

std::string meant_word(const std::string& word) {
  const std::string synonym = command_synonym(word);
  if (!synonym.empty()) return synonym;
  const std::string recipe = meant_recipe(word);
  return recipe.empty() ? meant_command(word) : ", did you mean '" + recipe + "'?";
}

}  // namespace

int dispatch(Words words) {
  const Globals globals = take_globals(words);
  set_log_level(globals.level);
  if (words.empty() || words[0] == "-h" || words[0] == "--help") return run_help({}, globals);
  if (words[0] == "--version") return run_version({words.begin() + 1, words.end()}, globals);
  if (const Command* command = find_command(commands(), words[0]))
    return command->run({words.begin() + 1, words.end()}, globals);
  if (words[0].starts_with('-') || !names_recipe(words[0]))
    throw Error("'" + words[0] + "' is no command and no recipe" + meant_word(words[0]),
                ExitCode::bad_recipe);
  return run_recipe(words, globals);
}

}  // namespace exprun
