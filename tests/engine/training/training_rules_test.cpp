// Rules of [run], [batch] and [optimizer] over whole updates.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <thread>
#include <utility>

#include "base/diagnostic.h"
#include "engine/step.h"
#include "engine/tiny_run.h"

using namespace exprun;

namespace {

struct Update {
  StepResult result;
  std::vector<NamedTensor> gradients;
};

// The first update of nanoGPT's character model on random tokens.
Update first_update(int64_t micro_batch) {
  const TinyRun run({"num_layers=4", "num_heads=4", "hidden_size=128", "context_length=64",
                     "dropout=0.0", "bias=false", "batch.sequences=16", "max_grad_norm=0.0",
                     "micro_batch=" + std::to_string(micro_batch)});
  const Pipeline pipeline = run.build();
  TrainingStep step(pipeline, [] { return false; });
  Update update{step.run(0), {}};
  for (const auto& parameter : pipeline.train_state.parameters->items())
    update.gradients.push_back({parameter.name, parameter.tensor.grad().clone()});
  return update;
}

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

constexpr double kWait = 50;  // milliseconds

// One whose disk takes its time.
class SlowDataset : public Dataset {
 public:
  explicit SlowDataset(std::unique_ptr<Dataset> dataset) : dataset_(std::move(dataset)) {}

  Batch batch(Split split, int64_t first_sample, int64_t count) const override {
    const auto start = Clock::now();
    while (milliseconds_since(start) < kWait) std::this_thread::yield();
    return dataset_->batch(split, first_sample, count);
  }
  int64_t samples_per_epoch(Split split) const override {
    return dataset_->samples_per_epoch(split);
  }
  int64_t targets_per_sample() const override { return dataset_->targets_per_sample(); }

 private:
  std::unique_ptr<Dataset> dataset_;
};

MemoryRecorder trained(const std::vector<std::string>& overrides) {
  const TinyRun run(overrides);
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  Trainer(pipeline, {recorder}).run();
  return recorder;
}

}  // namespace

TEST_CASE("training: loss and gradients do not depend on how the global batch is split") {
  const auto whole = first_update(16);
  for (const int64_t accumulation : {2, 8}) {
    const auto split = first_update(16 / accumulation);
    CHECK(std::abs(split.result.loss / whole.result.loss - 1) < 1e-6);
    for (size_t i = 0; i < whole.gradients.size(); ++i) {
      const auto& expected = whole.gradients[i].tensor;
      const auto off = (split.gradients[i].tensor - expected).norm() / expected.norm();
      CHECK_MESSAGE(off.item<double>() < 1e-6, whole.gradients[i].name);
    }
  }
}

TEST_CASE("training: one batch is learned by heart") {
  const auto recorder = trained({"run.overfit_single_batch=true", "run.steps=60", "dropout=0.0",
                                 "lr=1e-2", "evaluation.val_loss.every='60 steps'"});
  CHECK(recorder.steps.front().loss > 3);
  CHECK(recorder.steps.back().loss < 0.2);
}

TEST_CASE("training: the expected first loss is that of a model that knows nothing") {
  CHECK(trained({"run.expect_initial_loss='ln(vocab)'", "run.steps=1"}).steps.size() == 1);
  const auto wrong = {std::string("run.expect_initial_loss=3.0"), std::string("run.steps=1")};
  CHECK_THROWS_WITH_AS(trained(wrong), doctest::Contains("the loss of the first step is 4.1"),
                       RecipeError);
}

TEST_CASE("training: a run without an improvement for too long ends early, as finished") {
  const TinyRun run(
      {"run.early_stop={patience=2, min_delta=10.0}", "evaluation.val_loss.every='5 steps'"});
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  const auto result = Trainer(pipeline, {recorder}).run();
  CHECK(result.end == TrainingResult::End::finished);
  CHECK(result.position.step == 10);
  CHECK(result.position.best->step == 10);  // the least, though no improvement that counts
  CHECK(
      result.message.starts_with("ended early at step 10: val/loss has not improved by more than "
                                 "10 in 2 evaluations; its best "
                                 "is "));
}

// No evaluation is better than the best one before by half of what all of them gain.
TEST_CASE("training: small gains add up to an improvement") {
  const auto end = [](const std::string& min_delta) {
    const TinyRun run({"run.early_stop={patience=20, min_delta=" + min_delta + "}", "run.steps=12",
                       "evaluation.val_loss.every='1 step'", "optimizer.lr=1e-3",
                       "schedule.warmup='0 steps'"});
    const Pipeline pipeline = run.build();
    MemoryRecorder recorder;
    return Trainer(pipeline, {recorder}).run().position;
  };
  const Position none = end("10.0");
  const double first = none.improved_to.value(), least = none.best->value;
  CHECK(none.without_improvement == 12);
  const Position once = end(std::to_string((first - least) / 2));
  CHECK(once.best->value == least);
  CHECK(once.improved_to.value() < (first + least) / 2);
  CHECK(once.without_improvement < 12);
}

TEST_CASE("training: the best may be the largest value of any metric") {
  const TinyRun run({"run.best_goal='maximize'", "run.steps=20"});
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  const auto result = Trainer(pipeline, {recorder}).run();
  CHECK(result.position.best->step == 0);
  CHECK(result.position.without_improvement == 2);
}

TEST_CASE("training: learning rates grow with the batch as the recipe says") {
  const auto first_lr = [](const std::string& rule) {
    return trained({"run.steps=1", "schedule.warmup='0 steps'", "lr_scaling='" + rule + "'",
                    "lr_reference_tokens=32"})
        .steps.front()
        .lr;
  };
  // 8 sequences of 16 tokens are four times the reference.
  CHECK(first_lr("none") == 3e-3);
  CHECK(first_lr("sqrt") == doctest::Approx(6e-3).epsilon(1e-12));
  CHECK(first_lr("linear") == doctest::Approx(12e-3).epsilon(1e-12));
}

TEST_CASE("training: what an update waits for its data is the time of data and of nothing else") {
  const TinyRun run({"run.steps=1", "metrics.timers=true"});
  Pipeline pipeline = run.build();
  pipeline.dataset = std::make_unique<SlowDataset>(std::move(pipeline.dataset));
  TrainingStep step(pipeline, [] { return false; });
  const auto start = Clock::now();
  const auto times = step.run(0).times;
  const double all = milliseconds_since(start);
  REQUIRE(times);
  CHECK(times->data >= kWait);
  CHECK(times->forward + times->backward + times->update <= all - kWait);
}

TEST_CASE("training: timers say where the time of an update goes") {
  const auto timed = trained({"run.steps=2", "metrics.timers=true"});
  for (const auto& step : timed.steps) {
    REQUIRE(step.times);
    CHECK(step.times->data > 0);
    CHECK(step.times->forward > 0);
    CHECK(step.times->backward > 0);
    CHECK(step.times->update > 0);
    CHECK(step.times->total() <= step.seconds * 1e3);
  }
  CHECK_FALSE(trained({"run.steps=1"}).steps.front().times);
}
