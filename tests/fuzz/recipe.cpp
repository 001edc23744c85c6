// The loader of recipes on any bytes: it refuses with a place, or what it resolves is the same
// recipe when written and read back. A line "%%" ends the recipe; the lines behind it are overrides
// and, tried again, axes of a sweep.
#include <cstdint>
#include <cstdlib>

#include "recipe/resolved.h"
#include "recipe/sweep_space.h"

using namespace exprun;

namespace {

constexpr std::string_view kEnd = "\n%%\n";

RecipeText recipe_of(std::string_view input) {
  RecipeText recipe;
  const size_t end = input.find(kEnd);
  recipe.files.push_back(
      std::make_shared<SourceFile>(SourceFile{"fuzz.toml", std::string(input.substr(0, end))}));
  std::string_view rest = end == input.npos ? "" : input.substr(end + kEnd.size());
  while (!rest.empty()) {
    const size_t line = rest.find('\n');
    recipe.overrides.emplace_back(rest.substr(0, line));
    rest.remove_prefix(line == rest.npos ? rest.size() : line + 1);
  }
  return recipe;
}

void require(bool holds) {
  if (!holds) std::abort();
}

void resolve_and_read_back(const RecipeText& text) try {
  const ResolvedRecipe recipe = resolve(text);
  RecipeText written;
  written.files.push_back(std::make_shared<SourceFile>(SourceFile{"fuzz.toml", recipe.to_toml()}));
  require(resolve(written).hash() == recipe.hash());
} catch (const RecipeError& error) {
  require(!error.diagnostics().empty());
}

void read_axes(const RecipeText& text) try {
  parse_axes(text.overrides);
  read_sweep(text);
} catch (const RecipeError& error) {
  require(!error.diagnostics().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const RecipeText text = recipe_of({reinterpret_cast<const char*>(data), size});
  resolve_and_read_back(text);
  read_axes(text);
  return 0;
}
