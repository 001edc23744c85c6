#include "control/report/editable_toml.h"

#include <cstdint>
#include <memory>
#include <sstream>

#include "recipe/key_path.h"
#include "recipe/toml/parse.h"
#include "recipe/toml/write.h"
#include "recipe/value.h"

namespace exprun {
namespace {

constexpr const char* kAuto = "\"auto\"";
constexpr const char* kName = "run.name";  // it follows from the file, of which this is another

Table parsed(const std::string& toml) {
  Diagnostics diagnostics;
  auto file = load_file(std::make_shared<SourceFile>(SourceFile{"recipe", toml}), diagnostics);
  if (!file) throw RecipeError(std::move(diagnostics));
  return std::move(file->root);
}

}  // namespace

std::map<std::string, std::string> derived_values(const ResolvedRecipe& recipe) {
  std::map<std::string, std::string> derived;
  for (auto& [path, toml] : recipe.leaves(false))
    if (recipe.find(path)->origin == Origin::derived && path != kName)
      derived.emplace(path, std::move(toml));
  return derived;
}

std::string editable_toml(const std::string& toml,
                          const std::map<std::string, std::string>& derived) {
  const Table recipe = parsed(toml);
  std::map<uint32_t, std::pair<std::string, std::string>> values;  // key and value, by line
  for (const auto& [path, value] : derived)
    if (const Value* const found = find_path(recipe, path))
      values[found->where.line] = {last_part(path), value};
  std::string text, line;
  std::istringstream lines(toml);
  for (uint32_t number = 1; std::getline(lines, line); ++number) {
    const auto found = values.find(number);
    if (found != values.end()) {
      const auto& [key, value] = found->second;
      const std::string begin = key + " = ";  // else it stands in an inline table
      if (line == begin + value || line == begin + kAuto)
        line = begin + kAuto + "  # derived: " + value;
    }
    text += line + '\n';
  }
  return text;
}

}  // namespace exprun
