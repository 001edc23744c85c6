#include "control/data/evaluation_files.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "control/data/prepare.h"
#include "recipe/schema/schema.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/recipe/recipes.h"

using namespace exprun;

namespace {

ResolvedRecipe with_evaluation(const std::string& type, const std::filesystem::path& file,
                               const std::string& more = "") {
  return resolve(recipe_text(kTinyRecipe + "[evaluation.own]\ntype = \"" + type + "\"\npath = \"" +
                             file.string() + "\"\n" + more));
}

std::string said(const ResolvedRecipe& recipe) {
  std::string text;
  for (const Diagnostic& each : evaluation_file_problems(recipe, {}, "")) text += each.message;
  return text;
}

}  // namespace

TEST_CASE("evaluation files: those of every evaluation that reads one are looked at") {
  const TemporaryFolder folder;
  folder.write("empty", "");
  const SchemaSet& schemas = SchemaSet::embedded();
  for (const std::string& type : schemas.types("evaluation"))
    if (schemas.find("evaluation", type)->at("properties").contains("path"))
      CHECK_MESSAGE(said(with_evaluation(type, folder.path() / "empty")) != "", type);
}

TEST_CASE("evaluation files: as many examples are read as are evaluated") {
  const TemporaryFolder folder;
  folder.write("two", "{\"text\": \"two words\"}\n\r\nno example\n");
  CHECK(said(with_evaluation("completion", folder.path() / "two", "examples = 1\n")) == "");
  CHECK(said(with_evaluation("completion", folder.path() / "two")) ==
        "line 3 of '" + (folder.path() / "two").string() + "' is not a completion example");
  std::string large = "no example\n";
  large.resize((16 << 20) + 1, '\n');
  folder.write("large", large);
  CHECK(said(with_evaluation("completion", folder.path() / "large")) == "");
  CHECK(said(with_evaluation("completion", folder.path() / "large", "examples = 1\n")) != "");
}

TEST_CASE("evaluation files: labels of HellaSwag may be numbers in quotes") {
  const TemporaryFolder folder;
  folder.write("quiz", R"({"ctx": "a", "endings": ["b", "c"], "label": "1"})");
  CHECK(said(with_evaluation("hellaswag", folder.path() / "quiz")) == "");
}

TEST_CASE("evaluation files: those of many trials are read once") {
  const TemporaryFolder folder;
  folder.write("quiz", "no example");
  DatasetGlances glances(folder.path() / "data");
  const ResolvedRecipe recipe = with_evaluation("hellaswag", folder.path() / "quiz");
  const Diagnostics* const first = &glances.evaluation_problems_of(recipe);
  CHECK(first->size() == 1);
  folder.write("quiz", R"({"ctx": "a", "endings": ["b", "c"], "label": 1})");
  CHECK(&glances.evaluation_problems_of(recipe) == first);
}
