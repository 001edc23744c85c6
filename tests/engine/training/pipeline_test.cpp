#include "engine/pipeline.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "engine/data/token_dataset.h"
#include "engine/step.h"
#include "engine/tiny_run.h"

namespace exprun {
namespace {

// A model with one parameter that its forward pass does not use.
class Forgetful : public Model {
 public:
  explicit Forgetful(ParameterList& parameters)
      : used_(parameters.add("used", ParameterClass::vector, {1}, Initialization::constant(1))) {
    parameters.add("forgotten", ParameterClass::vector, {1}, Initialization::constant(1));
  }
  at::Tensor loss_sum(const at::Tensor&, const at::Tensor&) override { return used_.sum(); }
  at::Tensor logits(const at::Tensor&) override { return used_; }
  int64_t context_length() const override { return 16; }
  int64_t vocab_size() const override { return kTinyVocabulary; }
  double flops_per_token(int64_t) const override { return 0; }
  double activation_bytes(int64_t, int64_t, at::DeviceType) const override { return 0; }

 private:
  at::Tensor used_;
};

std::unique_ptr<Model> build_forgetful(const Section&, ParameterList& parameters) {
  return std::make_unique<Forgetful>(parameters);
}
const Register<Model> registration{"test_forgetful", build_forgetful};

std::map<std::string, at::Tensor> gradients_with(const std::string& micro_batch) {
  const TinyRun run({"model.dropout=0", "max_grad_norm=0", micro_batch});
  const Pipeline pipeline = run.build();
  TrainingStep(pipeline, [] { return false; }).run(0);
  std::map<std::string, at::Tensor> gradients;
  for (const Parameter& parameter : pipeline.train_state.parameters->items())
    gradients[parameter.name] = parameter.tensor.grad().clone();
  return gradients;
}

TEST_CASE("step: accumulation changes neither loss nor gradients") {
  const auto whole = gradients_with("micro_batch=8");
  const auto quarters = gradients_with("micro_batch=2");
  for (const auto& [name, gradient] : whole) {
    CAPTURE(name);
    CHECK(gradient.abs().max().item<double>() > 0);
    CHECK(gradient.sub(quarters.at(name)).abs().max().item<double>() < 1e-6);
  }
}

TEST_CASE("step: gradients are of the mean over the global batch") {
  const TinyRun run({"model.dropout=0", "max_grad_norm=0"});
  const Pipeline pipeline = run.build();
  const StepResult result = TrainingStep(pipeline, [] { return false; }).run(0);
  const Pipeline fresh = run.build();
  const Batch batch = fresh.read(Split::train, 0, 8);
  const double mean = fresh.model().loss_sum(batch.inputs, batch.targets).item<double>() / (8 * 16);
  CHECK(result.loss == doctest::Approx(mean).epsilon(1e-6));
  CHECK(result.loss == doctest::Approx(std::log(kTinyVocabulary)).epsilon(0.05));
}

TEST_CASE("step: of separate blocks the mean is over what something predicts") {
  const TinyRun run({"model.dropout=0", "dataset.blocks=separate"});
  const Pipeline pipeline = run.build(), fresh = run.build();
  const StepResult result = TrainingStep(pipeline, [] { return false; }).run(0);
  const Batch batch = fresh.read(Split::train, 0, 8);
  const double sum = fresh.model().loss_sum(batch.inputs, batch.targets).item<double>();
  CHECK(result.loss == doctest::Approx(sum / (8 * 15)).epsilon(1e-6));
}

TEST_CASE("step: the norm is of all gradients before clipping, which it limits") {
  const TinyRun run({"model.dropout=0", "max_grad_norm=0.01"});
  const Pipeline pipeline = run.build();
  const StepResult result = TrainingStep(pipeline, [] { return false; }).run(0);
  double sum = 0;
  for (const Parameter& parameter : pipeline.train_state.parameters->items())
    sum += parameter.tensor.grad().pow(2).sum().item<double>();
  CHECK(result.grad_norm > 0.1);
  CHECK(std::sqrt(sum) == doctest::Approx(0.01).epsilon(1e-3));
}

TEST_CASE("step: a parameter that no gradient reaches is named") {
  const auto schemas = SchemaSet::with({{"model/test_forgetful.schema.json",
                                         R"({"$schema": "http://json-schema.org/draft-07/schema#",
    "description": "for a test", "type": "object", "additionalProperties": false, "properties": {
    "num_layers": {"type": "integer", "default": 1, "description": "unused"},
    "num_heads": {"type": "integer", "default": 1, "description": "unused"},
    "hidden_size": {"type": "integer", "default": 1, "description": "unused"},
    "dropout": {"type": "number", "default": 0, "description": "unused"},
    "context_length": {"type": "integer", "default": 16, "description": "tokens"},
    "vocab_size": {"type": "integer", "default": 61, "description": "tokens"}}})"}});
  const TinyRun run({"model.type=test_forgetful"}, schemas);
  const Pipeline pipeline = run.build();
  TrainingStep step(pipeline, [] { return false; });
  CHECK_THROWS_WITH_AS(step.run(0),
                       "model: no gradient reached 'forgotten': its forward pass does not use it",
                       std::logic_error);
}

TEST_CASE("pipeline: a token outside of the vocabulary points at the recipe") {
  TinyRun run({"vocab_size=50", "order=sequential"});
  const auto said = [&] {
    try {
      run.build().read(Split::train, 0, 100);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string& file = run.data.train[0].path;
  const TokenReader tokens(run.data.train);
  const TokenPlace first = tokens.find(0, tokens.tokens(), 50).value();
  const std::string id = std::to_string(first.token), index = std::to_string(first.index);
  CHECK(said() == "<override 1>:1:12: error: token id " + id + " >= vocab_size 50, at token " +
                      index + " of '" + file +
                      "'\n"
                      "    vocab_size=50\n"
                      "               ^^ set vocab_size above " +
                      id + " if the tokenizer has this token; otherwise the file is damaged\n");
  run.data.described_vocab_size = 50;  // the recipe is right, then
  CHECK(said() == "token shard: '" + file + "' is damaged: its token " + index + " is " + id +
                      ", and the vocabulary has 50 tokens; `exprun data verify " + file +
                      "` checks the file, and `exprun resume RUN` continues once it is as it was");
}

TEST_CASE("pipeline: a seed fixes the parameters, whatever their order") {
  const TinyRun run;
  const auto first = all_tensors(run.build()), second = all_tensors(run.build());
  for (const auto& [name, tensor] : first) CHECK(tensor.equal(second.at(name)));
  const TinyRun other({"seed=7"});
  const auto different = all_tensors(other.build());
  CHECK_FALSE(first.at("token_embedding.weight").equal(different.at("token_embedding.weight")));
}

TEST_CASE("pipeline: the length of a run and its periods come in any unit") {
  const TinyRun run({"evaluation.val_loss.every=\"1 epoch\"", "checkpoint.every=\"256 tokens\""});
  const Pipeline pipeline = run.build();
  CHECK(pipeline.plan.timeline.tokens_per_step == 128);
  CHECK(pipeline.plan.timeline.tokens_per_epoch == 187 * 16);
  CHECK(pipeline.evaluations.at(0).every == 23);  // 2992 / 128
  CHECK(pipeline.plan.checkpoint_every == Period{2, PeriodUnit::steps});
}

}  // namespace
}  // namespace exprun
