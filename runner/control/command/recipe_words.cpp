#include "control/command/recipe_words.h"

#include "base/diagnostic.h"

namespace exprun {

bool names_recipe(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".toml") || std::filesystem::exists(word, ignored);
}

bool names_recipe_file(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".toml") || std::filesystem::is_regular_file(word, ignored);
}

std::string sign_of(const std::string& change) {
  return change.starts_with('~') || change.starts_with('+') ? change.substr(0, 1) : "";
}

std::string change_in(const std::string& table, const std::string& change) {
  const std::string sign = sign_of(change);
  return sign + table + '.' + change.substr(sign.size());
}

void show_warnings(const Diagnostics& warnings, const Globals& globals) {
  if (!warnings.empty() && globals.level != LogLevel::warning)
    std::fputs(render(warnings).c_str(), stderr);
}

ResolvedRecipe resolved_aloud(const RecipeText& text, const Globals& globals) {
  ResolvedRecipe resolved = resolve(text);
  show_warnings(resolved.warnings(), globals);
  return resolved;
}

LaunchRequest request_for(RecipeText text, const Globals& globals) {
  ResolvedRecipe resolved = resolved_aloud(text, globals);
  return {std::move(text), std::move(resolved), globals.command_line, globals.level, {}, {}};
}

void require_overrides(const Words& words, const std::string& command) {
  for (const std::string& word : words)
    if (word.find('=') == std::string::npos && !word.starts_with('~'))
      throw Error(command + ": '" + word + "' is no key=value", ExitCode::bad_recipe);
}

}  // namespace exprun
