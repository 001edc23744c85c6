#include "recipe/recipe_text.h"

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

TEST_CASE("load: a path through a linked folder is the system's") {
  const TemporaryFolder folder;
  const auto link = folder.path() / "here/link";
  write(folder.path() / "there/base.toml", kTinyRecipe);
  write(folder.path() / "there/inner/c.toml", "extends = \"../base.toml\"\n");
  write(folder.path() / "here/base.toml", "extends = 3\n");
  std::filesystem::create_directory_symlink("../there/inner", link);
  const RecipeText text = read_recipe(link / "c.toml", {});
  REQUIRE(text.files.size() == 2);
  CHECK(text.files[1]->text == kTinyRecipe);
  CHECK(text.files[1]->name == (link / "../base.toml").string());
  const RecipeText plain = read_recipe(folder.path() / "there/inner/c.toml", {});
  CHECK(plain.files[1]->name == (folder.path() / "there/base.toml").string());
}

TEST_CASE("load: a file that extends itself by another path is found") {
  const TemporaryFolder folder;
  write(folder.path() / "a.toml", "extends = \"b.toml\"\n");
  std::filesystem::create_symlink("a.toml", folder.path() / "b.toml");
  const std::string a = (folder.path() / "a.toml").string(),
                    b = (folder.path() / "b.toml").string();
  CHECK_THROWS_WITH_AS(
      read_recipe(a, {}),
      (a + ":1:11: error: '" + b + "' extends itself\n" + "    extends = \"b.toml\"\n" +
       "              ^^^^^^^^ remove one `extends` from the chain\n")
          .c_str(),
      RecipeError);
}

TEST_CASE("load: what is too large for a recipe is refused before it is parsed") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "large.toml";
  write(file, kTinyRecipe + "# " + std::string(10'000'000, 'x') + "\n");
  for (const std::string& name : {file.string(), std::string("/dev/zero")})
    CHECK_THROWS_WITH_AS(read_recipe(name, {}),
                         (name + ": error: this is larger than 1 MiB, too large for a recipe\n" +
                          "    is this the right file?\n")
                             .c_str(),
                         RecipeError);
  write(file, kTinyRecipe + "# " + std::string(1'000'000, 'x') + "\n");
  CHECK(resolve(read_recipe(file, {})).hash() == resolve_tiny().hash());
}

TEST_CASE("load: what cannot be read says why") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "loop.toml";
  std::filesystem::create_symlink("loop.toml", file);
  CHECK_THROWS_WITH_AS(
      read_recipe(file, {}),
      (file.string() + ": error: this cannot be read: Too many levels of symbolic links\n").c_str(),
      RecipeError);
}

TEST_CASE("load: a recipe without a name is wrong usage") {
  CHECK_THROWS_WITH_AS(read_recipe("", {}), "command line: the name of the recipe is empty", Error);
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

TEST_CASE("load: overrides are numbered as they were typed, behind those of a run and of options") {
  RecipeText text;
  text.files = {std::make_shared<SourceFile>(SourceFile{"mine.toml", ""})};
  text.type({"steps=1", "seed=2"});
  text.mark_as_stored();
  text.find_out("world_size=2");
  text.type({"lr=1"});
  text.imply("precision.compute=bf16");
  text.type({"num_layers=3"});
  std::vector<std::string> names;
  for (const auto& source : RecipeText::from_json(text.to_json()).sources())
    names.push_back(source->name);
  CHECK(names == std::vector<std::string>{"mine.toml", "<stored override 1>", "<stored override 2>",
                                          "<implied override 1>", "<override 1>", "<override 2>",
                                          "<automatic override 1>"});
  CHECK(text.overrides == std::vector<std::string>{"steps=1", "seed=2", "precision.compute=bf16",
                                                   "lr=1", "num_layers=3", "world_size=2"});
  CHECK(text.first_found_out() == 5);
  text.erase_override(3);
  text.erase_override(0);
  CHECK(text.override_source(0)->name == "<stored override 1>");
  CHECK(text.override_source(1)->name == "<implied override 1>");
  CHECK(text.is_typed(2));
  CHECK(!text.is_typed(3));
  CHECK(text.override_source(3)->name == "<automatic override 1>");
}

TEST_CASE("load: a damaged stored recipe says so") {
  CHECK_THROWS_WITH_AS(RecipeText::from_json("{\"files\": [], \"overrides\": []}"),
                       "recipe: the stored recipe is damaged: it contains no recipe file", Error);
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
  CHECK(recipe.warnings()[0].message ==
        "'decay' is not a key of schedule \"cosine\" and is ignored");
  CHECK(recipe.warnings()[0].also.size() == 1);
}

TEST_CASE("load: what a child says instead of another key takes its place") {
  const auto base = std::make_shared<SourceFile>(SourceFile{"base.toml", kTinyRecipe});
  RecipeText text =
      recipe_text("extends = \"base.toml\"\n[batch]\ntokens = 64\n[run]\nlength = \"2 epochs\"\n");
  text.files.push_back(base);
  const ResolvedRecipe recipe = resolve(text);
  CHECK(recipe.find("batch.sequences") == nullptr);
  CHECK(value_at(recipe, "batch.tokens") == "64");
  CHECK(value_at(recipe, "run.length") == "\"2 epochs\"");
  CHECK(value_at(resolve_tiny({"length=2 epochs", "steps=7"}), "run.length") == "absent");
  text = recipe_text("extends = \"base.toml\"\n[batch]\ntokens = 64\nsequences = 4\n");
  text.files.push_back(base);
  CHECK(error_of(text) ==
        "recipes/tiny.toml:4:13: error: [batch] has both 'tokens' and 'sequences'\n"
        "    sequences = 4\n"
        "                ^ remove one of them\n");
}
