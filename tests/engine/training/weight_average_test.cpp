// [run] ema: what is averaged, and who sees it.
#include "engine/buffers/weight_average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <doctest/doctest.h>

#include <algorithm>

#include "base/files/checkpoints.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/inference/evaluate_run.h"
#include "engine/tiny_run.h"
#include "tests/engine/training/exact_resume.h"

namespace exprun {
namespace {

using Values = std::map<std::string, at::Tensor>;

Values copied(const std::vector<NamedTensor>& tensors) {
  Values values;
  for (const auto& [name, tensor] : tensors)
    values[name] = tensor.detach().to(at::kDouble, false, /*copy=*/true);
  return values;
}

Values weights_of(const Pipeline& pipeline) {
  return copied(pipeline.optimizers().parameter_tensors());
}

double last_value(const MemoryRecorder& recorder) {
  return recorder.evaluations.back().result.metrics.at(0).second;
}

}  // namespace

TEST_CASE("weight average: after n updates by min(ema, (1 + n) / (10 + n))") {
  const TinyRun run({"run.ema=0.5", R"(optimizer.frozen=["blocks.0.*"])"});
  const Pipeline pipeline = run.build();
  TrainingStep step(pipeline, [] { return false; });
  const WeightAverage& average = *pipeline.train_state.average;
  CHECK(average.tensors().empty());
  Values expected;
  int64_t begin = 0;
  SUBCASE("from the run's first") {}
  SUBCASE("from where it begins, as in a fork that asks for one") {
    begin = 4;
  }
  for (int64_t k = 0; k < begin + 12; ++k) {
    if (k == begin) pipeline.train_state.average->restore(0);
    step.run(k);
    const Values weights = weights_of(pipeline);
    const double n = static_cast<double>(k - begin) + 1, decay = std::min(0.5, (1 + n) / (10 + n));
    for (const auto& [name, weight] : weights)
      expected[name] = k <= begin ? weight : expected[name].mul(decay).add(weight, 1 - decay);
  }
  const Values found = copied(average.tensors());
  size_t trained = 0;
  for (const Parameter& parameter : pipeline.train_state.parameters->items()) {
    CHECK(found.contains(parameter.name) == !parameter.is_frozen());
    if (parameter.is_frozen()) continue;
    ++trained;
    CHECK_MESSAGE(at::allclose(found.at(parameter.name), expected.at(parameter.name), 1e-5, 1e-7),
                  parameter.name);
  }
  CHECK(found.size() == trained);
}

TEST_CASE("weight average: evaluations see it, training does not, checkpoints hold both") {
  const TinyRun averaged({"run.ema=0.99"}), plain;
  MemoryRecorder of_averaged, of_plain;
  Values trained = make_attempt(averaged, of_averaged).tensors;
  CHECK(std::erase_if(trained,
                      [](const auto& named) { return named.first.ends_with("/average"); }) > 10);
  check_equal(trained, make_attempt(plain, of_plain).tensors);
  CHECK(of_averaged.series().at("train/loss") == of_plain.series().at("train/loss"));
  CHECK(last_value(of_averaged) != last_value(of_plain));

  const auto checkpoint = complete_checkpoints(RunFolder{averaged.folder()}).at(0).path;
  const Pipeline pipeline = averaged.build();
  load_tensors(checkpoint, pipeline);
  CHECK(pipeline.train_state.average->tensors().size() ==
        pipeline.train_state.parameters->items().size());
  const auto evaluated = [&] {
    const at::NoGradGuard no_grad;
    pipeline.model().set_training(false);
    const auto context = context_of(pipeline, 40, [] { return false; });
    return pipeline.evaluations.at(0).evaluation->evaluate(context)->metrics.at(0).second;
  };
  CHECK(evaluated() == last_value(of_plain));
  {
    const WeightAverage::InPlace in_place(*pipeline.train_state.average);
    CHECK(evaluated() == last_value(of_averaged));
  }
  CHECK(evaluated() == last_value(of_plain));
  load_averages(checkpoint, pipeline.train_state);
  CHECK(evaluated() == last_value(of_averaged));
}

TEST_CASE("weight average: a run that is resumed ends with the same bits") {
  check_exact({"run.ema=0.95"}, 2);
  check_exact({"run.ema=0.95", "model.lora={rank=2}"}, 1);
}

}  // namespace exprun
