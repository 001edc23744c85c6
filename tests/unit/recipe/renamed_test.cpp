// A key that was renamed: an error that names the new one, but what was stored goes on.
#include "recipe/renamed.h"

#include <doctest/doctest.h>

#include "recipes.h"

using namespace exprun;

namespace {

// [precision] as it may be one day: `compute` was called `activations` and, first, `dtype`.
const SchemaSet kLater =
    SchemaSet::with({{"precision.schema.json",
                      R"({"type": "object", "description": "number formats", "properties": {
        "compute": {"type": "string", "enum": ["fp32", "bf16"], "default": "fp32",
                    "x-renamed-from": ["dtype", "activations"], "description": "format"},
        "scale": {"type": "number", "minimum": 1, "default": 1.0, "x-renamed-from": ["factor"],
                  "description": "of the loss"},
        "lr": {"type": "number", "default": 1.0, "description": "a second key of this name"}}})"}});

// And as it was.
const SchemaSet kEarlier =
    SchemaSet::with({{"precision.schema.json",
                      R"({"type": "object", "description": "number formats", "properties": {
        "dtype": {"type": "string", "enum": ["fp32", "bf16"], "default": "fp32",
                  "description": "format"},
        "factor": {"type": "number", "default": 1.0, "description": "of the loss"}}})"}});

const std::string kOld = kTinyRecipe + "[precision]\ndtype = \"bf16\"\n";

RecipeText stored(const RecipeText& text) {
  return RecipeText::from_json(text.to_json());
}

std::string error(const RecipeText& text) {
  try {
    resolve(text, {}, kLater);
    return "";
  } catch (const RecipeError& refused) {
    return refused.what();
  }
}

}  // namespace

TEST_CASE("renamed: a recipe of an earlier run resolves, with the hash that it had") {
  for (const RecipeText& text :
       {recipe_text(kOld), recipe_text(kTinyRecipe, {"precision.dtype=bf16"}),
        recipe_text(kTinyRecipe, {"dtype=bf16"})}) {
    const ResolvedRecipe now = resolve(stored(text), {}, kLater);
    CHECK(now.section("precision").get<std::string>("compute") == "bf16");
    CHECK(now.hash() == resolve(text, {}, kEarlier).hash());
  }
}

TEST_CASE("renamed: a recipe with the new name is the same recipe") {
  const RecipeText text = recipe_text(kTinyRecipe, {"compute=bf16"});
  CHECK(resolve(text, {}, kLater).hash() == resolve(recipe_text(kOld), {}, kEarlier).hash());
}

TEST_CASE("renamed: what is refused since stays tolerated by its new name when something changes") {
  for (RecipeText text : {stored(recipe_text(kTinyRecipe + "[precision]\nfactor = 0.5\n")),
                          stored(recipe_text(kTinyRecipe, {"factor=0.5"}))}) {
    text.overrides.push_back("seed=7");
    CHECK(error(text) == "");
    text.overrides.push_back("scale=0.25");
    CHECK(error(text).find("error: 'scale' must be >= 1") != std::string::npos);
  }
}

TEST_CASE(
    "renamed: a short key is stored whole, since a later table may have another of its name") {
  RecipeText text = recipe_text(
      kTinyRecipe, {"lr = 1e-2", "~weight_decay", "+evaluation.again.type=val_loss",
                    "metrics.val_loss=false", "position={type=\"rotary\"}", "base=100"});
  const ResolvedRecipe before = resolve(text, {}, kEarlier);
  text.overrides = before.overrides();
  CHECK(text.overrides ==
        std::vector<std::string>{"optimizer.lr= 1e-2", "~optimizer.weight_decay",
                                 "+evaluation.again.type=val_loss", "metrics.val_loss=false",
                                 "model.position={type=\"rotary\"}", "model.position.base=100"});
  CHECK(resolve(stored(text), {}, kLater).hash() == before.hash());
}
