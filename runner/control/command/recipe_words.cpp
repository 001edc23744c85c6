#include "control/command/recipe_words.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "base/suggest.h"

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

std::string without_blanks(const Words& words, size_t i) {
  if (words[i].find('=') != std::string::npos) return "";
  const bool is_last = i + 1 == words.size();
  if (i > 0 && words[i - 1].ends_with('=')) return words[i - 1] + words[i];
  if (is_last || !words[i + 1].starts_with('=')) return "";
  const bool alone = words[i + 1] == "=" && i + 2 < words.size();
  return words[i] + words[i + 1] + (alone ? words[i + 2] : "");
}

void require_overrides(const Words& words, const std::string& command) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].find('=') != std::string::npos || words[i].starts_with('~')) continue;
    const std::string joined = without_blanks(words, i);
    throw Error(command + ": '" + words[i] + "' is no key=value" +
                    (joined.empty() ? "" : "; write " + joined + ", without blanks"),
                ExitCode::bad_recipe);
  }
}

std::string meant_recipe(const std::string& word) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code ignored;
  const fs::path folder = fs::path(word).parent_path();
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored))
    if (entry.path().extension() == ".toml")
      files.push_back((folder / entry.path().filename()).string());
  std::sort(files.begin(), files.end());
  if (std::find(files.begin(), files.end(), word + ".toml") != files.end()) return word + ".toml";
  return nearest(word, files).value_or("");
}

}  // namespace exprun
