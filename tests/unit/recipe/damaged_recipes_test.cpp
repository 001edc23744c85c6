// Recipes and overrides with random damage are refused with a place, or resolve: nothing else.
#include <doctest/doctest.h>

#include "base/random.h"
#include "recipes.h"

using namespace exprun;

namespace {

constexpr uint64_t kRecipes = 1500;

const std::vector<std::string> kPieces = {"[",
                                          "]",
                                          "[[",
                                          "=",
                                          "\"",
                                          "'",
                                          "{",
                                          "}",
                                          ".",
                                          ",",
                                          "\n",
                                          "\t",
                                          "#",
                                          "-1",
                                          "1e999",
                                          "nan",
                                          "auto",
                                          "0",
                                          "99999999999999999999",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "type",
                                          "steps",
                                          "${",
                                          "\"\"\"",
                                          "\xff",
                                          "ü",
                                          "\\",
                                          "~",
                                          "1 epoch",
                                          "extends = 3\n",
                                          "[optimizer.groups.x]\n",
                                          "[evaluation.val_loss.x]\n",
                                          "[model]\n",
                                          "micro_batch = 0\n",
                                          "num_heads = 0\n",
                                          "[sweep]\n",
                                          "evaluation = 3\n",
                                          "groups = 3\n",
                                          "match = []\n"};

std::string damaged(std::string text, uint64_t seed) {
  const uint64_t edits = 1 + random_below(4, {seed, 1});
  for (uint64_t i = 0; i < edits; ++i) {
    const size_t at = random_below(text.size() + 1, {seed, 2, i});
    const std::string& piece = kPieces[random_below(kPieces.size(), {seed, 3, i})];
    if (random_below(3, {seed, 4, i}) == 0)
      text.erase(at, random_below(12, {seed, 5, i}));
    else
      text.insert(at, piece);
  }
  return text;
}

// Nothing if it was refused; every diagnostic says something and can be rendered.
std::optional<ResolvedRecipe> resolved(const RecipeText& text) {
  try {
    return resolve(text);
  } catch (const RecipeError& error) {
    CHECK_FALSE(error.diagnostics().empty());
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      CHECK(diagnostic.where.file != nullptr);
      CHECK_FALSE(diagnostic.message.empty());
    }
    return std::nullopt;
  }
}

// Whether it was refused; what is written of it never is.
bool refused(const RecipeText& text) {
  const auto recipe = resolved(text);
  if (!recipe) return true;
  const auto read_back = resolved(recipe_text(recipe->to_toml()));
  REQUIRE(read_back);
  CHECK(read_back->hash() == recipe->hash());
  return false;
}

}  // namespace

TEST_CASE("damaged recipes: refused with a place, or the same recipe when written and read back") {
  uint64_t errors = 0;
  for (uint64_t seed = 0; seed < kRecipes; ++seed) {
    const std::string text = damaged(kTinyRecipe, seed);
    CAPTURE(text);
    errors += refused(recipe_text(text));
  }
  CHECK(errors > kRecipes / 2);
  CHECK(errors < kRecipes);
}

TEST_CASE("damaged overrides: refused with a place, or applied") {
  const std::vector<std::string> good = {"lr=1e-3",           "optimizer.betas=[0.9, 0.95]",
                                         "~warmup",           "tags=[a, b]",
                                         "schedule.type=wsd", "warmup=5 steps"};
  for (uint64_t seed = 0; seed < kRecipes; ++seed) {
    const std::string text = damaged(good[seed % good.size()], seed);
    CAPTURE(text);
    refused(recipe_text(kTinyRecipe, {text}));
  }
}
