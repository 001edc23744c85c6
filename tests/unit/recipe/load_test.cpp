#include "recipe/load.h"

#include <doctest/doctest.h>

#include <fstream>

#include "recipes.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("load: parents are relative to their file, tables merge, arrays are replaced") {
  const TemporaryFolder folder;
  write(folder.path() / "base/a.toml", kTinyRecipe + "betas = [0.5, 0.6]\nweight_decay = 0.2\n");
  write(folder.path() / "base/b.toml", "extends = \"a.toml\"\n[run]\ntags = [\"b\"]\nseed = 5\n");
  write(folder.path() / "mine.toml",
        "extends = \"base/b.toml\"\n[run]\ntags = [\"mine\"]\n[optimizer]\nbetas = [0.7, 0.8]\n");
  const RecipeText text = read_recipe(folder.path() / "mine.toml", {});
  REQUIRE(text.files.size() == 3);
  CHECK(text.files[2]->name == (folder.path() / "base/a.toml").string());
  const ResolvedRecipe recipe = resolve(text);
  CHECK(recipe.section("run").get<int64_t>("seed") == 5);
  CHECK(recipe.section("run").get<std::vector<std::string>>("tags") ==
        std::vector<std::string>{"mine"});
  CHECK(recipe.section("optimizer").get<std::vector<double>>("betas") ==
        std::vector<double>{0.7, 0.8});
  CHECK(recipe.section("optimizer").get<double>("weight_decay") == 0.2);
  CHECK(recipe.find("optimizer.weight_decay")->where.file == text.files[2]);
  CHECK(recipe.section("run").get<std::string>("name") == "mine");
}

TEST_CASE("load: what is stored resolves to the same recipe without the files") {
  const TemporaryFolder folder;
  write(folder.path() / "base.toml", kTinyRecipe);
  write(folder.path() / "mine.toml", "extends = \"base.toml\"\n[run]\nseed = 7\n");
  const RecipeText text = read_recipe(folder.path() / "mine.toml", {"lr=1e-2"});
  const RecipeText stored = RecipeText::from_json(text.to_json());
  CHECK(resolve(stored).hash() == resolve(text).hash());
  CHECK(stored.to_json() == text.to_json());
  CHECK(stored.overrides == std::vector<std::string>{"lr=1e-2"});
}

TEST_CASE("load: a damaged stored recipe says so") {
  CHECK_THROWS_WITH_AS(RecipeText::from_json("{\"files\": [], \"overrides\": []}"),
                       "recipe: the stored recipe has no file", Error);
  CHECK_THROWS_AS(RecipeText::from_json("{"), Error);
  CHECK_THROWS_AS(RecipeText::from_json("{\"files\": 3, \"overrides\": []}"), Error);
}

TEST_CASE("load: a child that picks another type leaves its parent's keys behind, with a warning") {
  const auto base = std::make_shared<SourceFile>(SourceFile{
      "base.toml",
      kTinyRecipe + "[schedule]\ntype = \"wsd\"\nwarmup = \"5 steps\"\ndecay = \"linear\"\n"});
  RecipeText text = recipe_text("extends = \"base.toml\"\n[schedule]\ntype = \"cosine\"\n");
  text.files.push_back(base);
  const ResolvedRecipe recipe = resolve(text);
  CHECK(recipe.find("schedule.decay") == nullptr);
  CHECK(recipe.section("schedule").get<Period>("warmup") == Period{5, PeriodUnit::steps});
  REQUIRE(recipe.warnings().size() == 1);
  CHECK(recipe.warnings()[0].message == "'decay' is no key of schedule \"cosine\" and is left out");
  CHECK(recipe.warnings()[0].also.size() == 1);
}
