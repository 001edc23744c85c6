// Runs every case below tests/errors: recipe.toml with the overrides in `overrides` (one a line)
// and the facts in facts.json must be refused with the text of expected.txt, to the letter.
// EXPRUN_UPDATE_ERRORS=1 writes the texts anew; read the difference before you keep it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "recipe/resolved.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

const fs::path kCases = "tests/errors";

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> overrides_of(const fs::path& folder) {
  std::ifstream stream(folder / "overrides");
  std::vector<std::string> overrides;
  for (std::string line; std::getline(stream, line);) overrides.push_back(line);
  return overrides;
}

std::optional<int64_t> fact(const nlohmann::json& facts, const char* name) {
  return facts.contains(name) ? std::optional(facts[name].get<int64_t>()) : std::nullopt;
}

Facts facts_of(const fs::path& folder) {
  if (!fs::exists(folder / "facts.json")) return {};
  const auto json = nlohmann::json::parse(text_of(folder / "facts.json"));
  Facts facts{fact(json, "vocab_size"), fact(json, "train_tokens"),
              fact(json, "validation_tokens")};
  if (!json.contains("characters")) return facts;
  facts.characters.emplace();
  const auto characters = json["characters"].get<std::string>();
  for (const CodePoint& c : code_points(characters)) *facts.characters += c.value;
  return facts;
}

std::string message_of(const fs::path& folder) {
  try {
    const auto text = read_recipe(folder / "recipe.toml", overrides_of(folder));
    const ResolvedRecipe recipe = resolve(text, facts_of(folder));
    return render(recipe.warnings());
  } catch (const RecipeError& error) {
    return error.what();
  }
}

std::vector<fs::path> cases() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(kCases))
    if (entry.is_directory()) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace

TEST_CASE("errors: every mistake is explained as expected") {
  REQUIRE_MESSAGE(fs::is_directory(kCases), "run the tests from the root of the repository");
  const bool update = std::getenv("EXPRUN_UPDATE_ERRORS") != nullptr;
  for (const fs::path& folder : cases()) {
    CAPTURE(folder.string());
    const std::string message = message_of(folder);
    if (update) std::ofstream(folder / "expected.txt", std::ios::binary) << message;
    CHECK(message == text_of(folder / "expected.txt"));
    CHECK_FALSE(message.empty());
  }
  CHECK(cases().size() >= 172);
}
