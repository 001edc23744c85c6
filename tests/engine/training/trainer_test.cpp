#include "engine/trainer.h"

#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "engine/tiny_run.h"

namespace exprun {
namespace {

using End = TrainingResult::End;

TEST_CASE(
    "trainer: steps count completed updates, evaluations run at 0, on period and at the end") {
  const TinyRun run({"run.steps=25"});
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  const TrainingResult result = Trainer(pipeline, {recorder}).run();

  CHECK((result.end == End::finished));
  CHECK(result.position.step == 25);
  REQUIRE(recorder.steps.size() == 25);
  for (size_t i = 0; i < 25; ++i) {
    CHECK(recorder.steps[i].step == static_cast<int64_t>(i) + 1);
    CHECK(recorder.steps[i].lr == 3e-3 * pipeline.schedule->factor(static_cast<int64_t>(i)));
    CHECK(recorder.steps[i].tokens == 128);
  }
  std::vector<int64_t> steps;
  for (const auto& evaluated : recorder.evaluations) steps.push_back(evaluated.step);
  CHECK(steps == std::vector<int64_t>{0, 10, 20, 25});
}

TEST_CASE("trainer: it learns, and remembers the best validation loss") {
  const TinyRun run({"run.steps=60", "model.dropout=0"});
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  const TrainingResult result = Trainer(pipeline, {recorder}).run();
  const auto losses = recorder.series().at("val/loss");
  CHECK(losses.front().second == doctest::Approx(std::log(kTinyVocabulary)).epsilon(0.05));
  CHECK(losses.back().second < losses.front().second - 0.3);
  REQUIRE(result.position.best);
  double best = losses.front().second;
  for (const auto& [step, loss] : losses) best = std::min(best, loss);
  CHECK(result.position.best->value == best);
}

TEST_CASE("trainer: a stop drops the unfinished step and tells what was asked for") {
  const TinyRun run({"evaluation.val_loss.every=\"40 steps\""});
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  // Looks: 8 validation batches at step 0, then one before a step and one a micro-batch.
  const TrainingResult result =
      Trainer(pipeline, {recorder, nullptr, stop_at_look(8 + 3 + 2)}).run();
  CHECK((result.end == End::stopped));
  CHECK((result.stop == StopRequest::interrupt));
  CHECK(result.position.step == 1);
  CHECK(recorder.steps.size() == 1);
}

TEST_CASE("trainer: a stop within an evaluation drops the evaluation") {
  const TinyRun run;
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  const TrainingResult result = Trainer(pipeline, {recorder, nullptr, stop_at_look(3)}).run();
  CHECK((result.end == End::stopped));
  CHECK(recorder.evaluations.empty());
}

TEST_CASE("trainer: a loss that is no number stops before the update") {
  const TinyRun run;
  const Pipeline pipeline = run.build();
  {
    const at::NoGradGuard no_grad;
    pipeline.train_state.parameters->find("final_norm.bias")
        ->tensor.fill_(std::numeric_limits<double>::quiet_NaN());
  }
  const auto before = all_tensors(pipeline);
  MemoryRecorder recorder;
  const TrainingResult result = Trainer(pipeline, {recorder}).run();
  CHECK((result.end == End::diverged));
  CHECK(result.message == "the loss of step 1 is nan; the update was not applied");
  CHECK(result.position.step == 0);
  CHECK_FALSE(result.position.best);  // the validation loss before training was no number either
  for (const auto& [name, tensor] : all_tensors(pipeline))
    if (name != "final_norm.bias") CHECK(tensor.equal(before.at(name)));
}

TEST_CASE("trainer: max_minutes ends an attempt as preempted") {
  const TinyRun run({"run.max_minutes=1e-9"});
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  const TrainingResult result = Trainer(pipeline, {recorder}).run();
  CHECK((result.end == End::stopped));
  CHECK((result.stop == StopRequest::preempt));
}

TEST_CASE("trainer: kernels are kept before anything that they computed is recorded") {
  const TinyRun run({"run.steps=2", "evaluation.val_loss.every=\"2 steps\""});
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  std::vector<size_t> records_at_keep;
  const auto keep = [&] {
    records_at_keep.push_back(recorder.steps.size() + recorder.evaluations.size());
  };
  Trainer(pipeline, {recorder, nullptr, [] { return StopRequest::none; }, keep}).run();
  // Before the evaluation at 0, the first update and the evaluation at the end.
  CHECK(records_at_keep == std::vector<size_t>{0, 1, 3});
}

}  // namespace
}  // namespace exprun
