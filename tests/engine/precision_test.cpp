// Number formats: what is stored, what computes, and what is kept of small updates.
#include "engine/precision/precision.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/randn.h>
#include <doctest/doctest.h>

#include <cmath>

#include "base/diagnostic.h"
#include "base/machine/processor.h"
#include "engine/precision/stochastic_rounding.h"
#include "engine/tiny_run.h"
#include "support/recorded_run.h"

using namespace exprun;

namespace {

at::ScalarType format_of(const Pipeline& pipeline, const std::string& name) {
  return pipeline.train_state.parameters->find(name)->tensor.scalar_type();
}

std::vector<StepRecord> trained(const std::vector<std::string>& overrides) {
  const TinyRun run(overrides);
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  Trainer(pipeline, {recorder}).run();
  return recorder.steps;
}

}  // namespace

TEST_CASE("precision: each part of the model has its format") {
  const TinyRun run({"precision.parameters='fp32'", "precision.embedding='bf16'"});
  const Pipeline pipeline = run.build();
  CHECK((format_of(pipeline, "token_embedding.weight") == at::kBFloat16));
  CHECK((format_of(pipeline, "blocks.0.feed_forward.up_projection.weight") == at::kFloat));
  CHECK((format_of(pipeline, "final_norm.weight") == at::kFloat));
}

TEST_CASE("precision: gradients and state over bf16 weights are fp32 unless the recipe says bf16") {
  const auto formats = [](const std::vector<std::string>& words) {
    const TinyRun run(words);
    const Pipeline pipeline = run.build();
    const auto weight = pipeline.train_state.parameters->find("token_embedding.weight")->tensor;
    const auto state = pipeline.optimizers().gathered_state().at(0).tensor;
    return std::vector{weight.scalar_type(), weight.grad().scalar_type(), state.scalar_type()};
  };
  using Formats = std::vector<at::ScalarType>;
  const auto f = at::kFloat, b = at::kBFloat16;
  const std::string bf16 = "precision.parameters='bf16'", gradients = "precision.gradients='bf16'",
                    state = "precision.optimizer_state='bf16'";
  CHECK((formats({bf16}) == Formats{b, f, f}));
  CHECK((formats({bf16, gradients}) == Formats{b, b, f}));
  CHECK((formats({bf16, state}) == Formats{b, f, b}));
  CHECK((formats({bf16, gradients, state}) == Formats{b, b, b}));
  CHECK((formats({gradients, state}) == Formats{f, f, f}));
}

TEST_CASE("precision: a second moment over bf16 weights forgets as slowly as it should") {
  // At beta2 = 0.999 it loses a thousandth in a step, less than half a step of bf16.
  const auto second_moment = [](const std::vector<std::string>& words) {
    const TinyRun run(words);
    const Pipeline pipeline = run.build();
    Optimizers& optimizers = pipeline.optimizers();
    for (const Parameter& parameter : pipeline.train_state.parameters->items())
      parameter.tensor.grad().fill_(1);
    optimizers.step(1, 1);
    optimizers.zero_gradients();
    for (int64_t update = 2; update <= 201; ++update) optimizers.step(1, update);
    for (const auto& [name, tensor] : optimizers.gathered_state())
      if (name == "token_embedding.weight/exp_avg_sq")
        return tensor.select(0, 0).to(at::kDouble).mean().item<double>();
    return 0.0;
  };
  const std::string betas = "optimizer.betas=[0.9,0.999]", bf16 = "precision.parameters='bf16'";
  const double expected = 1e-3 * std::pow(0.999, 200);
  CHECK(second_moment({betas, bf16}) == doctest::Approx(expected).epsilon(1e-3));
  CHECK(second_moment({betas, bf16, "precision.optimizer_state='bf16'"}) > 1.1 * expected);
}

TEST_CASE("precision: stochastic rounding keeps Muon's small updates too") {
  const std::vector<std::string> words{
      R"(optimizer.groups.matrices={match=["*projection.weight"],type="muon",lr=1e-5})",
      "model.dropout=0.0"};
  const std::string matrix = "blocks.0.feed_forward.up_projection.weight";
  const auto moved = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    const TinyRun run(more);
    const Pipeline pipeline = run.build();
    const at::Tensor weight = pipeline.train_state.parameters->find(matrix)->tensor;
    const at::Tensor before = weight.detach().to(at::kDouble, false, true);
    TrainingStep step(pipeline, [] { return false; });
    for (int64_t k = 0; k < 4; ++k) step.run(k);
    return weight.detach().to(at::kDouble).sub(before);
  };
  const std::string bf16 = "precision.parameters='bf16'";
  const at::Tensor exact = moved({}), rounded = moved({bf16, "precision.stochastic_rounding=true"});
  CHECK(moved({bf16}).abs().sum().item<double>() < 0.1 * exact.abs().sum().item<double>());
  const double along =
      rounded.mul(exact).sum().item<double>() / exact.square().sum().item<double>();
  CHECK(along == doctest::Approx(1).epsilon(0.3));
}

TEST_CASE("precision: every mode trains") {
  const double full = trained({}).back().loss;
  const std::vector<std::vector<std::string>> modes = {
      {"precision.compute='bf16'"},
      {"precision.compute='bf16'", "precision.embedding='bf16'"},
      {"precision.compute='bf16'", "precision.parameters='bf16'"},
      {"precision.compute='bf16'", "precision.parameters='bf16'",
       "precision.stochastic_rounding=true"},
      {"precision.compute='bf16'", "precision.parameters='bf16'", "precision.gradients='bf16'"},
      {"precision.compute='bf16'", "precision.parameters='bf16'",
       "precision.optimizer_state='bf16'"},
      {"precision.compute='bf16'", "precision.parameters='bf16'", "precision.gradients='bf16'",
       "precision.optimizer_state='bf16'"},
      {"precision.compute='fp16'"}};
  for (const auto& mode : modes) {
    const auto steps = trained(mode);
    INFO(mode.back());
    CHECK(steps.front().loss == doctest::Approx(std::log(kTinyVocabulary)).epsilon(0.02));
    CHECK(steps.back().loss == doctest::Approx(full).epsilon(0.05));
  }
}

TEST_CASE("precision: bf16 with master weights follows the fp32 curve" *
          doctest::test_suite("slow")) {
  const auto recorded = recorded_run();
  if (!recorded) return;
  constexpr size_t kUpdates = 500;
  ReplayedRun replayed(*recorded, "[precision]\ncompute = \"bf16\"\n");
  MemoryRecorder recorder;
  TrainerLinks links{recorder};
  links.stop_requested = [&] {
    return recorder.steps.size() >= kUpdates ? StopRequest::interrupt : StopRequest::none;
  };
  Trainer(replayed.pipeline, links).run();
  REQUIRE(recorder.steps.size() == kUpdates);
  double worst = 0;
  for (size_t i = 0; i < kUpdates; ++i) {
    const double expected = recorded->curve.at("loss").at(i);
    worst = std::max(worst, std::abs(recorder.steps[i].loss / expected - 1));
  }
  MESSAGE("within ", worst, " of the fp32 curve");
  CHECK(worst < 0.02);
}

TEST_CASE("precision: an overflow halves the scale, and the update is made all the same") {
  const TinyRun run({"precision.compute='fp16'", "dropout=0.0"});
  const Pipeline pipeline = run.build();
  TrainingStep step(pipeline, [] { return false; });
  const double injected = std::ldexp(1.0, 40);  // beyond fp16's 65,504 in every gradient
  step.set_loss_scale({injected, 0});
  const auto result = step.run(0);
  CHECK(result.end == StepResult::End::completed);
  CHECK(std::isfinite(result.grad_norm));
  const double after = step.loss_scale().value;
  CHECK(after < injected);
  CHECK(step.loss_scale().updates == 1);
  step.run(1);
  CHECK(step.loss_scale().value == after);
}

TEST_CASE("precision: fp16 keeps gradients of unlikely tokens that the loss scale makes large") {
  const auto unlikely_gradients = [](const std::string& compute) {
    const TinyRun run({"precision.compute='" + compute + "'", "model.dropout=0.0",
                       "model.tie_embeddings=false", "optimizer.max_grad_norm=0"});
    const Pipeline pipeline = run.build();
    const auto parameter = [&](const char* name) {
      return pipeline.train_state.parameters->find(name)->tensor.detach();
    };
    // Whatever comes before, every logit is 0 but that of token 0: all others have 1.5e-8.
    parameter("final_norm.weight").zero_();
    parameter("final_norm.bias").zero_()[0].fill_(1);
    const at::Tensor head = parameter("head.weight").zero_();
    head[0][0].fill_(18);
    TrainingStep step(pipeline, [] { return false; });
    REQUIRE((step.run(0).end == StepResult::End::completed));
    const Batch batch = pipeline.read(Split::train, 0, 8);
    const at::Tensor of_head = pipeline.train_state.parameters->find("head.weight")->tensor.grad();
    std::vector<double> gradients;
    for (int64_t token = 1; token < kTinyVocabulary; ++token)
      if (!batch.targets.eq(token).any().item<bool>())
        gradients.push_back(of_head[token][0].item<double>());
    return gradients;
  };
  const auto narrow = unlikely_gradients("fp16"), full = unlikely_gradients("fp32");
  REQUIRE(full.size() == narrow.size());
  REQUIRE_FALSE(full.empty());
  for (size_t i = 0; i < full.size(); ++i) {
    CHECK(full[i] == doctest::Approx(std::exp(-18.0)).epsilon(0.01));
    CHECK(narrow[i] == doctest::Approx(full[i]).epsilon(0.01));
  }
}

TEST_CASE("precision: an overflow is told") {
  const TinyRun run({"precision.compute='fp16'", "run.steps=2"});
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  Position start;
  start.loss_scale.value = std::ldexp(1.0, 40);
  const auto result = Trainer(pipeline, {recorder}).run(start);
  REQUIRE(recorder.events.size() == 1);
  CHECK(recorder.events[0].starts_with(
      "info loss_scale: gradients of step 1 overflowed fp16; the step was computed again with "
      "loss scale "));
  CHECK(result.position.loss_scale.updates == 2);
}

TEST_CASE("precision: a device that cannot is refused, one that is slow is told") {
  const auto checked = [](const std::string& compute, const std::string& processor) {
    const TinyRun run({"precision.compute='" + compute + "'"});
    return check_formats(run.recipe.section("precision"), processor);
  };
  CHECK_THROWS_WITH_AS(checked("tf32", "avx512f avx512_bf16"),
                       doctest::Contains("TF32 is a format of NVIDIA's tensor cores, but this run "
                                         "trains on a CPU"),
                       RecipeError);
  CHECK(checked("bf16", "fpu avx512_bf16 sse") == std::nullopt);
  CHECK(checked("bf16", "fpu avx512f")->starts_with("this processor has no bf16 instructions"));
  CHECK(checked("fp16", "fpu avx512_bf16")->starts_with("this processor has no fp16 instructions"));
  CHECK(checked("fp32", "") == std::nullopt);
  CHECK_FALSE(processor_flags().empty());
}

TEST_CASE("precision: without overflows the scale doubles again") {
  LossScale scale{1024, LossScale::kGrowthInterval - 1};
  scale.overflowed();
  CHECK((scale == LossScale{512, 0}));
  for (int64_t i = 0; i < LossScale::kGrowthInterval; ++i) scale.updated();
  CHECK((scale == LossScale{1024, 0}));
}

TEST_CASE("precision: stochastic rounding keeps small updates on average") {
  const auto start = at::full({100'000}, 1.0f);
  const auto updated = start - 1e-4f;  // a fortieth of a step of bf16 below 1
  CHECK(at::equal(updated.to(at::kBFloat16).to(at::kFloat), start));
  const auto rounded = stochastically_rounded(updated, 7).to(at::kFloat);
  CHECK(rounded.mean(at::kDouble).item<double>() == doctest::Approx(1 - 1e-4).epsilon(2e-5));
  CHECK(at::equal(rounded, stochastically_rounded(updated, 7).to(at::kFloat)));
  CHECK_FALSE(at::equal(rounded, stochastically_rounded(updated, 8).to(at::kFloat)));
}

TEST_CASE("precision: stochastic rounding leaves what bf16 can say as it is") {
  const auto exact = at::linspace(-3, 3, 97).to(at::kBFloat16).to(at::kFloat);
  CHECK(at::equal(stochastically_rounded(exact, 1).to(at::kFloat), exact));
}

TEST_CASE("precision: casts of weights are kept while somebody asks for it") {
  const at::NoGradGuard no_grad;
  const auto weight = at::randn({3, 4});
  const auto again = [&] {
    return cast_weight(weight, at::kBFloat16).is_same(cast_weight(weight, at::kBFloat16));
  };
  CHECK_FALSE(again());
  {
    const KeptCasts kept;
    CHECK(again());
    { const KeptCasts inner; }
    CHECK(again());
    CHECK(at::equal(cast_weight(weight, at::kBFloat16), weight.to(at::kBFloat16)));
    CHECK((cast_weight(weight, at::kHalf).scalar_type() == at::kHalf));
    CHECK(cast_weight(weight, at::kFloat).is_same(weight));
  }
  weight.add_(1);
  CHECK(at::equal(cast_weight(weight, at::kBFloat16), weight.to(at::kBFloat16)));
}
