// The loader of recipes on any bytes: it refuses with a place, or what it resolves is the same
// recipe when written and read back. A line "%%" ends the recipe; after it stand overrides, each
// ended by such a line, and of more than one line perhaps. They are tried again as axes of a sweep,
// and all of it as a recipe that was stored.
#include <cstdint>
#include <cstdlib>

#include "recipe/resolved.h"
#include "recipe/sweep/sweep_table.h"

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
    const size_t next = rest.find(kEnd);
    recipe.overrides.emplace_back(rest.substr(0, next));
    rest.remove_prefix(next == rest.npos ? rest.size() : next + kEnd.size());
  }
  return recipe;
}

void require(bool holds) {
  if (!holds) std::abort();
}

std::optional<ResolvedRecipe> resolved(const RecipeText& text) try {
  return resolve(text);
} catch (const RecipeError& error) {
  require(!error.diagnostics().empty());
  return std::nullopt;
}

// What `show` prints is never refused.
void resolve_and_read_back(const RecipeText& text) {
  const auto recipe = resolved(text);
  if (!recipe) return;
  RecipeText written;
  written.files.push_back(std::make_shared<SourceFile>(SourceFile{"fuzz.toml", recipe->to_toml()}));
  const auto read_back = resolved(written);
  require(read_back && read_back->hash() == recipe->hash());
}

void read_axes(const RecipeText& text) try {
  Diagnostics mistakes;
  parse_axes(text.overrides, mistakes);
  read_sweep(text);
} catch (const RecipeError& error) {
  require(!error.diagnostics().empty());
}

// What a damaged store may hold.
void read_stored(std::string_view input) try {
  resolve(RecipeText::from_json(std::string(input)));
} catch (const RecipeError&) {
} catch (const Error&) {
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  read_stored(input);
  const RecipeText text = recipe_of(input);
  resolve_and_read_back(text);
  read_axes(text);
  return 0;
}
