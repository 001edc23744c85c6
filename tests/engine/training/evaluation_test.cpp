#include "engine/evaluation.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <doctest/doctest.h>

#include <cmath>

#include "base/diagnostic.h"
#include "engine/inference/sampling.h"
#include "engine/tiny_run.h"

namespace exprun {
namespace {

const TinyRun::Edit kWithSample{R"(type = "token_shards"
train = "train.bin"
validation = "validation.bin"
format = "raw_uint16"
)",
                                R"(type = "text"
path = "unused.txt"
[evaluation.sample]
prompt = "ab"
tokens = 30
samples = 2
)"};

TEST_CASE("val_loss: the mean over all tokens of the split, not of batches") {
  const TinyRun run({"micro_batch=4", "run.steps=1", "model.dropout=0.5"});
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  Trainer(pipeline, {recorder, nullptr, stop_at_look(10)}).run();
  REQUIRE(recorder.evaluations.size() == 1);

  const at::NoGradGuard no_grad;
  const Pipeline fresh = run.build();
  fresh.model().set_training(false);
  const Batch all = fresh.read(Split::validation, 0, 480);  // 7667 targets: the last has 3
  const double sum = fresh.model().loss_sum(all.inputs, all.targets).item<double>();
  CHECK(recorder.evaluations[0].result.metrics[0].first == "val/loss");
  CHECK(recorder.evaluations[0].result.metrics[0].second ==
        doctest::Approx(sum / 7667).epsilon(1e-6));
}

TEST_CASE("val_loss: exactly as many tokens as the recipe says") {
  const TinyRun run({"run.steps=1", "dropout=0.0", "evaluation.val_loss.tokens=50"});
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  Trainer(pipeline, {recorder, nullptr, stop_at_look(10)}).run();

  const at::NoGradGuard no_grad;
  const Pipeline fresh = run.build();
  Batch all = fresh.read(Split::validation, 0, 4);  // 64 tokens
  all.targets.view({-1}).slice(0, 50).fill_(kIgnoredTarget);
  const double sum = fresh.model().loss_sum(all.inputs, all.targets).item<double>();
  CHECK(recorder.evaluations.at(0).result.metrics[0].second ==
        doctest::Approx(sum / 50).epsilon(1e-6));
}

TEST_CASE("val_loss: of separate blocks it counts what something predicts") {
  const TinyRun run({"run.steps=1", "dropout=0.0", "micro_batch=2", "dataset.blocks=separate",
                     "evaluation.val_loss.tokens=50"});
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  Trainer(pipeline, {recorder, nullptr, stop_at_look(10)}).run();

  const at::NoGradGuard no_grad;
  const Pipeline fresh = run.build();
  Batch all = fresh.read(Split::validation, 0, 4);  // 15 targets each: 3 of them and 5 more
  all.targets[3].slice(0, 5).fill_(kIgnoredTarget);
  CHECK(all.targets.ne(kIgnoredTarget).sum().item<int64_t>() == 50);
  const double sum = fresh.model().loss_sum(all.inputs, all.targets).item<double>();
  CHECK(recorder.evaluations.at(0).result.metrics[0].second ==
        doctest::Approx(sum / 50).epsilon(1e-6));
}

TEST_CASE("val_loss: without validation data it is a mistake in the recipe") {
  TinyRun run;
  run.data.validation.clear();
  CHECK_THROWS_AS(run.build(), RecipeError);
}

TEST_CASE("sample: a function of seed and step that goes on beyond the context") {
  TinyRun run({"run.steps=1", "vocab_size=256"}, SchemaSet::embedded(), kWithSample);
  run.data.tokenizer = make_byte_tokenizer()->to_json();
  std::vector<std::string> texts;
  for (int i = 0; i < 2; ++i) {
    const Pipeline pipeline = run.build();
    MemoryRecorder recorder;
    Trainer(pipeline, {recorder}).run();
    for (const auto& evaluated : recorder.evaluations) {
      if (evaluated.name != "sample") continue;
      CHECK(evaluated.step == 1);  // never of the untrained model
      texts.push_back(evaluated.result.text);
    }
  }
  REQUIRE(texts.size() == 2);
  CHECK(texts[0] == texts[1]);
  const size_t second = texts[0].find("\n---\nab");
  CHECK(texts[0].starts_with("ab"));
  REQUIRE(second != std::string::npos);
  CHECK(texts[0].substr(0, second) != texts[0].substr(second + 5));
}

TEST_CASE("sample: a dataset without a tokenizer is a mistake before training") {
  const TinyRun run({"vocab_size=256"}, SchemaSet::embedded(), kWithSample);  // none is prepared
  CHECK_THROWS_AS(run.build(), RecipeError);
}

TEST_CASE("sampling: temperature, top k and ties") {
  const at::Tensor logits = at::tensor({1.0f, 3.0f, 2.0f, 2.0f});
  const auto all = token_probabilities(logits, 0.5, 0);
  double sum = 0;
  for (const double p : all) sum += p;
  CHECK(sum == doctest::Approx(1));
  CHECK(all[1] / all[2] == doctest::Approx(std::exp(2.0)));
  const auto two = token_probabilities(logits, 1, 2);
  CHECK(two[0] == 0);
  CHECK(two[2] == two[3]);  // both are the second largest
  CHECK(token_probabilities(logits, 0, 0) == std::vector<double>{0, 1, 0, 0});
}

TEST_CASE("sampling: draws follow the cumulative probabilities") {
  const std::vector<double> probabilities{0.25, 0, 0.75};
  CHECK(draw_token(probabilities, 0) == 0);
  CHECK(draw_token(probabilities, 0.2499) == 0);
  CHECK(draw_token(probabilities, 0.25) == 2);
  CHECK(draw_token(probabilities, 1 - 1e-17) == 2);
}

}  // namespace
}  // namespace exprun
