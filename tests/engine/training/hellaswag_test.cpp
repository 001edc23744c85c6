// HellaSwag on the small GPT-2 of the fixtures, with bytes as tokens, against plain PyTorch
// (tools/goldens/hellaswag.py).
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "engine/evaluation.h"
#include "engine/inference/completion_loss.h"
#include "support/fixtures.h"
#include "support/foreign_names.h"
#include "support/sections.h"
#include "support/temporary_folder.h"
#include "text/tokenizer.h"

using namespace exprun;
using nlohmann::json;

namespace {

struct Gpt2 {
  explicit Gpt2(const std::filesystem::path& folder) : parameters(at::kCPU) {
    std::ifstream stream(folder / "config.json");
    const json config = json::parse(stream);
    const auto number = [&](const char* key) { return config.at(key).dump() + "\n"; };
    recipe = std::make_unique<ResolvedRecipe>(recipe_with(
        "model", "gpt",
        "activation = \"gelu_tanh\"\nnum_layers = " + number("n_layer") +
            "num_heads = " + number("n_head") + "hidden_size = " + number("n_embd") +
            "context_length = " + number("n_positions") + "vocab_size = " + number("vocab_size")));
    model = Registry<Model>::instance().find("gpt")(recipe->section("model"), parameters);
    load_foreign(names_of("huggingface_gpt2"), Safetensors(folder / "model.safetensors"),
                 parameters.items());
    model->set_training(false);
  }

  ParameterList parameters;
  std::unique_ptr<ResolvedRecipe> recipe;
  std::unique_ptr<Model> model;
};

// The first examples' completions, four an example.
std::vector<Completion> completions(const std::filesystem::path& file, size_t examples) {
  const auto tokenizer = make_byte_tokenizer();
  std::vector<Completion> result;
  std::ifstream stream(file);
  std::string line;
  for (size_t i = 0; i < examples && std::getline(stream, line); ++i) {
    const json example = json::parse(line);
    for (const auto& ending : example.at("endings")) {
      const auto context = tokenizer->encode(example.at("ctx").get<std::string>());
      const auto tokens = tokenizer->encode(" " + ending.get<std::string>());
      result.push_back({{context.begin(), context.end()}, static_cast<int64_t>(tokens.size())});
      result.back().tokens.insert(result.back().tokens.end(), tokens.begin(), tokens.end());
    }
  }
  return result;
}

std::optional<std::vector<CompletionScore>> scores(const Gpt2& gpt2,
                                                   const std::vector<Completion>& rows,
                                                   int64_t batch, bool stops) {
  return score_completions(*gpt2.model, rows, batch, *single_process(),
                           [=](size_t) { return stops; });
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

class NoData final : public Dataset {
 public:
  Batch batch(Split, int64_t, int64_t) const override { return {}; }
  int64_t samples_per_epoch(Split) const override { return 0; }
  int64_t targets_per_sample() const override { return 0; }
};

// A recipe outlives what is built from its section.
struct HellaSwag {
  explicit HellaSwag(const std::filesystem::path& file)
      : recipe(recipe_with("evaluation", "hellaswag", "path = \"" + file.string() + "\"\n")),
        evaluation(Registry<Evaluation>::instance().find("hellaswag")(
            recipe.section("evaluation").table("hellaswag"))) {}

  ResolvedRecipe recipe;
  std::unique_ptr<Evaluation> evaluation;
};

constexpr const char* kExample = "{\"ctx\": \"a\", \"endings\": [\"b\", \"c\"], \"label\": 1}\n";

std::string mistake_at(const std::filesystem::path& path) {
  const HellaSwag hellaswag(path);
  try {
    hellaswag.evaluation->check(NoData(), make_byte_tokenizer().get());
  } catch (const RecipeError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

std::string mistake(const std::string& text) {
  const TemporaryFolder folder;
  return mistake_at(folder.write("hellaswag.jsonl", text));
}

}  // namespace

TEST_CASE("hellaswag: losses of endings are PyTorch's, whatever the batch and its padding") {
  const auto folder = fixture("parity/hf_gpt2/model");
  const auto data = fixture("data/hellaswag_val_250.jsonl");
  if (!folder || !data) return;
  const at::NoGradGuard no_grad;
  std::ifstream stream("tests/golden/hellaswag.json");
  const json golden = json::parse(stream);
  const Gpt2 gpt2(*folder);
  const auto rows = completions(*data, golden.at("examples").size());
  std::vector<double> expected;
  for (const auto& example : golden.at("examples"))
    for (const auto& sum : example.at("sums")) expected.push_back(sum);
  REQUIRE(expected.size() == rows.size());
  for (const int64_t batch : {1, 4, 7, 96}) {
    const auto found = scores(gpt2, rows, batch, false);
    std::vector<double> ours;
    for (const CompletionScore& score : *found) ours.push_back(score.loss);
    CHECK(largest_difference(ours, expected) < 1e-4);  // of sums of about 200
  }
  CHECK_FALSE(scores(gpt2, rows, 1, true));
}

TEST_CASE("hellaswag: a model that knows nothing scores like chance") {
  const auto data = fixture("data/hellaswag_val_250.jsonl");
  if (!data) return;
  const at::NoGradGuard no_grad;
  const auto recipe =
      recipe_with("model", "gpt", "hidden_size = 32\ncontext_length = 64\nvocab_size = 256\n");
  ParameterList parameters(at::kCPU);
  const auto model = Registry<Model>::instance().find("gpt")(recipe.section("model"), parameters);
  parameters.initialize(1);
  model->set_training(false);
  const HellaSwag hellaswag(*data);
  const auto tokenizer = make_byte_tokenizer();
  const NoData none;
  hellaswag.evaluation->check(none, tokenizer.get());
  const EvaluationContext context{*model, none, tokenizer.get(),      0,      1,
                                  16,     64,   [] { return false; }, nullptr};
  const auto result = hellaswag.evaluation->evaluate(context);
  REQUIRE(result->metrics.size() == 2);
  // 250 examples, a quarter right: 3 sigma are 3 sqrt(0.25 * 0.75 / 250).
  for (const auto& [metric, value] : result->metrics) {
    INFO(metric);
    CHECK(std::abs(value - 0.25) < 3 * std::sqrt(0.25 * 0.75 / 250));
  }
}

TEST_CASE("hellaswag: files that are none say where") {
  CHECK(mistake("").ends_with("has no examples"));
  CHECK(mistake("{\"ctx\": \"a\"}\n").starts_with("line 1 of '"));
  CHECK(mistake("{\"ctx\": \"a\", \"endings\": [\"b\"], \"label\": 1}\n")
            .ends_with("has a label that refers to none of its endings"));
  CHECK(mistake(kExample) == "");
}

TEST_CASE("hellaswag: a path is that of one file, with variables of the environment in it") {
  const TemporaryFolder folder;
  folder.write("hellaswag.jsonl", kExample);
  ::setenv("EXPRUN_TEST_EXAMPLES", folder.path().c_str(), 1);
  CHECK(mistake_at("${env:EXPRUN_TEST_EXAMPLES}/hellaswag.jsonl") == "");
  CHECK(mistake_at("${env:EXPRUN_TEST_EXAMPLES}") ==
        "there is no file '" + folder.path().string() + "'");
  CHECK(mistake_at("${env:EXPRUN_TEST_EXAMPLES}/*.jsonl") ==
        "there is no file '" + (folder.path() / "*.jsonl").string() + "'");
  CHECK(mistake_at("-") == "there is no file '-'");
  ::unsetenv("EXPRUN_TEST_EXAMPLES");
  CHECK(mistake_at("${env:EXPRUN_TEST_EXAMPLES}/hellaswag.jsonl") ==
        "the environment variable EXPRUN_TEST_EXAMPLES is not set; set it, or write "
        "${env:EXPRUN_TEST_EXAMPLES:default}");
}
