// Texts that are no recipes: refused without running out of stack.
#include <doctest/doctest.h>

#include "recipes.h"

using namespace exprun;

namespace {

Diagnostics refused(const std::string& text, std::vector<std::string> overrides = {}) {
  Diagnostics diagnostics;
  try {
    resolve(recipe_text(text, std::move(overrides)));
  } catch (const RecipeError& error) {
    diagnostics = error.diagnostics();
  }
  REQUIRE(has_errors(diagnostics));
  return diagnostics;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("limits: of many mistakes the first are shown, and how many there are") {
  std::string text = kTinyRecipe;
  for (int i = 0; i < 20000; ++i) text += "[table_" + std::to_string(i) + "]\n";
  const Diagnostics found = refused(text);
  REQUIRE(found.size() == 201);
  CHECK(found[199].message == "unknown table [table_199]");
  CHECK(found[200].message == "19,800 more not shown");
  CHECK(found[200].where.line == found[199].where.line);
}

TEST_CASE("limits: keys and tables that are too deep") {
  const std::string parts = repeated("\"a\" . ", 500000) + "b";
  const std::string long_key = "a key has more than 32 parts";
  for (const std::string& text : {parts + " = 1\n", "[" + parts + "]\n", "[[" + parts + "]]\n",
                                  "x = [{y = 1, " + parts + " = 1}]\n"})
    CHECK(refused(kTinyRecipe + text)[0].message == long_key);
  CHECK(refused(kTinyRecipe, {"dropout={" + parts + " = 1}"})[0].message == long_key);
  const std::string nested = repeated("{" + repeated("a.", 31) + "a = ", 200);
  CHECK(refused(kTinyRecipe + "x = " + nested + "1" + repeated("}", 200))[0].message ==
        "tables are nested more than 256 levels deep");
  refused(kTinyRecipe + "x = " + repeated("[", 100000) + repeated("]", 100000));
}

TEST_CASE("limits: points in texts and comments are no parts of keys") {
  const std::string points = repeated("a.", 100) + "b";
  for (const std::string& quoted :
       {'"' + points + '"', '\'' + points + '\'', "\"\\\"" + points + '"',
        R"(""")" + points + '"' + points + R"(""")", "'''" + points + '\'' + points + "'''"}) {
    CAPTURE(quoted);
    const auto recipe =
        resolve(recipe_text("# " + points + "\nrun.tags = [" + quoted + ", 'x']\nrun.steps = 3\n" +
                            kTinyRecipe.substr(kTinyRecipe.find("[model]"))));
    CHECK(recipe.section("run").get<std::vector<std::string>>("tags").size() == 2);
  }
}
