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

TEST_CASE("evaluation files: those that take longer than the training are told") {
  const TemporaryFolder folder;
  std::string examples;
  for (int i = 0; i < 200; ++i)
    examples += R"({"context": ")" + std::string(99, 'a') +
                R"(", "endings": ["b", "c"], "label": 1})"
                "\n";
  folder.write("quiz", examples);
  folder.write("text", std::string(40'000, 'a'));
  const auto warned = [&](const std::string& type, const char* file, const std::string& more,
                          int64_t steps) {
    const ResolvedRecipe recipe =
        resolve(recipe_text(kTinyRecipe + "[evaluation.own]\ntype = \"" + type + "\"\npath = \"" +
                                (folder.path() / file).string() + "\"\n" + more,
                            {"run.steps=" + std::to_string(steps)}));
    std::string text;
    for (const Diagnostic& each : long_evaluations_of_files(recipe, {}, ""))
      text += each.message + "; " + each.help;
    return text;
  };
  CHECK(
      warned("completion", "quiz", "", 100) ==
      "[evaluation.own] may take longer than the training: it reads about 40,000 tokens 11 times, "
      "but "
      "the run trains on 12,800; a longer interval in 'every', or a smaller number of 'examples', "
      "takes less of the run's time");
  CHECK(warned("completion", "quiz", "", 1000) ==
        "[evaluation.own] may take longer than the training: it reads about 40,000 tokens 11 "
        "times, but "
        "the run trains on 128,000; evaluation.own.examples=20 takes little of the run's time");
  CHECK(warned("completion", "quiz", "", 2000) == "");
  CHECK(warned("completion", "quiz", "examples = 20\n", 1000) == "");
  CHECK(warned("perplexity", "text", "", 1000) ==
        "[evaluation.own] may take longer than the training: it reads about 40,000 tokens 11 "
        "times, but "
        "the run trains on 128,000; a longer interval in 'every', or a shorter text, takes less of "
        "the run's time; 'path' is set in recipes/tiny.toml:23");
  CHECK(warned("perplexity", "text", "", 2000) == "");
  CHECK(warned("perplexity", "text", "stride = 8\n", 2000) != "");
  CHECK(warned("perplexity", "text", "every = \"1000 steps\"\n", 1000) == "");
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
