// What is injected at a step is caught at that step, and what a policy does then is exact.
#include "engine/divergence/divergence.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mul.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/checkpoint/open_checkpoint.h"
#include "engine/model.h"
#include "engine/tiny_run.h"
#include "support/rank_threads.h"
#include "tests/engine/training/exact_resume.h"

namespace exprun {
namespace {

using End = TrainingResult::End;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kBatch = 8;  // samples of TinyRun's global batch

enum class Fault { data, gradient, weights };

// What goes wrong, and in which global batches, from 0.
struct Faults {
  Fault where;
  std::vector<int64_t> batches;
  double factor = kNan;  // of the gradient

  bool hit(int64_t batch) const {
    return std::find(batches.begin(), batches.end(), batch) != batches.end();
  }
};

// The data of a pipeline, and on the way the fault. It tells which batch was read last.
class FaultyData : public Dataset {
 public:
  FaultyData(std::unique_ptr<Dataset> data, Faults faults, at::Tensor weight)
      : data_(std::move(data)), faults_(std::move(faults)), weight_(std::move(weight)) {
    weight_.register_hook([this](const at::Tensor& gradient) {
      const bool hit = faults_.where == Fault::gradient && faults_.hit(batch_);
      return hit ? gradient.mul(faults_.factor) : gradient;
    });
  }

  Batch batch(Split split, int64_t first_sample, int64_t count) const override {
    Batch batch = data_->batch(split, first_sample, count);
    if (split != Split::train) return batch;
    batch_ = first_sample / kBatch;
    const at::NoGradGuard no_grad;
    if (faults_.where == Fault::weights && faults_.hit(batch_)) weight_.select(0, 0).fill_(kNan);
    // No target counts: the mean loss is 0 / 0.
    if (faults_.where == Fault::data && faults_.hit(batch_)) {
      batch.targets = batch.targets.clone().fill_(kIgnoredTarget);
      batch.counted_targets = 0;
    }
    return batch;
  }
  int64_t samples_per_epoch(Split split) const override { return data_->samples_per_epoch(split); }
  int64_t targets_per_sample() const override { return data_->targets_per_sample(); }

 private:
  std::unique_ptr<Dataset> data_;
  const Faults faults_;
  at::Tensor weight_;
  mutable int64_t batch_ = -1;
};

std::function<void(Pipeline&)> with(const Faults& faults) {
  return [faults](Pipeline& pipeline) {
    const at::Tensor weight = pipeline.train_state.parameters->find("final_norm.bias")->tensor;
    pipeline.dataset = std::make_unique<FaultyData>(std::move(pipeline.dataset), faults, weight);
  };
}

std::vector<std::string> of_kind(const MemoryRecorder& recorder, const std::string& beginning) {
  std::vector<std::string> found;
  for (const std::string& event : recorder.events)
    if (event.starts_with(beginning)) found.push_back(event);
  return found;
}

TEST_CASE("divergence: a z-score counts the newest value, and needs a whole window before it") {
  CHECK(z_score({1, 2, 3}, 100, 4) == 0);
  // Of 2, 3, 4 and 7: mean 4, squares 4 + 1 + 0 + 9.
  CHECK(z_score({1, 2, 3, 4}, 7, 4) == doctest::Approx(3 / std::sqrt(14.0 / 4)));
  CHECK(z_score({90, 1, 2, 3, 4}, 7, 4) == z_score({1, 2, 3, 4}, 7, 4));
  CHECK(z_score({1, 2, 3, 4}, -7, 4) < 0);
  CHECK(z_score({5, 5, 5, 5}, 5, 4) == 0);
}

TEST_CASE("divergence: what is injected at a step ends the run at that step") {
  for (const auto& [fault, said] : {std::pair(Fault::data, "the loss of step 5 is nan"),
                                    {Fault::gradient, "the gradient norm of step 5 is nan"},
                                    {Fault::weights, "the loss of step 5 is nan"}}) {
    const TinyRun run;
    MemoryRecorder recorder;
    const Attempt ended = make_attempt(run, recorder, never_stop, at::kCPU, with({fault, {4}}));
    CHECK((ended.result.end == End::diverged));
    CHECK(ended.result.position.step == 4);
    CHECK(ended.result.message == std::string(said) + "; the update was not applied");
    CHECK(recorder.steps.size() == 5);
  }
}

// After each update: every tensor.
class TensorRecorder : public MemoryRecorder {
 public:
  explicit TensorRecorder(const Pipeline& pipeline) : pipeline_(pipeline) {}
  void step(const StepRecord& record) override {
    MemoryRecorder::step(record);
    tensors.push_back(all_tensors(pipeline_));
  }
  std::vector<std::map<std::string, at::Tensor>> tensors;

 private:
  const Pipeline& pipeline_;
};

TEST_CASE("divergence: a skipped update changes no bit, and its step counts") {
  for (const auto& [fault, said] : {std::pair(Fault::data, "the loss of step 5 is nan"),
                                    {Fault::gradient, "the gradient norm of step 5 is nan"}}) {
    const TinyRun run({"run.on_divergence=skip", "run.steps=12"});
    Pipeline pipeline = run.build();
    with({fault, {4}})(pipeline);
    TensorRecorder recorder(pipeline);
    const TrainingResult result = Trainer(pipeline, {recorder}).run();
    CHECK((result.end == End::finished));
    CHECK(result.position.step == 12);
    CHECK(result.position.optimizer_start == 1);
    REQUIRE(recorder.tensors.size() == 12);
    check_equal(recorder.tensors[3], recorder.tensors[4]);
    CHECK_FALSE(
        recorder.tensors[4].at("final_norm.bias").equal(recorder.tensors[5].at("final_norm.bias")));
    CHECK(recorder.events == std::vector<std::string>{"warning divergence: " + std::string(said) +
                                                      "; the update was skipped"});
    std::vector<int64_t> skipped;
    for (const StepRecord& record : recorder.steps) skipped.push_back(*record.skipped_updates);
    CHECK(skipped == std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
  }
}

TEST_CASE("divergence: fp16 keeps its loss scale when an update is skipped") {
  const TinyRun run({"run.on_divergence=skip", "run.steps=8", "precision.compute='fp16'"});
  MemoryRecorder recorder;
  const Attempt ended =
      make_attempt(run, recorder, never_stop, at::kCPU, with({Fault::gradient, {4}}));
  CHECK((ended.result.end == End::finished));
  const TinyRun healthy({"run.steps=8", "precision.compute='fp16'"});
  MemoryRecorder ignored;
  CHECK(ended.result.position.loss_scale.value ==
        make_attempt(healthy, ignored).result.position.loss_scale.value);
}

TEST_CASE("divergence: so many updates in a row are skipped, and no more") {
  const TinyRun run({"run.on_divergence=skip", "run.divergence.max_in_row=3"});
  MemoryRecorder recorder;
  const Faults faults{Fault::data, {2, 3, 4, 6, 7, 8, 9, 10}};
  const Attempt ended = make_attempt(run, recorder, never_stop, at::kCPU, with(faults));
  CHECK((ended.result.end == End::diverged));
  CHECK(ended.result.position.step == 9);
  CHECK(ended.result.message ==
        "the loss of step 10 is nan; the update was not applied: the 3 updates before it were "
        "skipped, as many in a row as run.divergence.max_in_row allows");
  CHECK(of_kind(recorder, "warning divergence: ").size() == 6);
}

TEST_CASE("divergence: weights that are no numbers are not skipped over") {
  const TinyRun run({"run.on_divergence=skip"});
  MemoryRecorder recorder;
  const Attempt ended =
      make_attempt(run, recorder, never_stop, at::kCPU, with({Fault::weights, {4}}));
  CHECK((ended.result.end == End::diverged));
  CHECK(ended.result.position.step == 9);
  std::vector<std::string> skipped;
  for (int step = 5; step <= 9; ++step)
    skipped.push_back("warning divergence: the loss of step " + std::to_string(step) +
                      " is nan; the update was skipped");
  CHECK(of_kind(recorder, "warning divergence: ") == skipped);
  CHECK(ended.result.message.starts_with("the loss of step 10 is nan; "));
}

const std::vector<std::string> kOutliers{"run.divergence.z_score=3.4", "run.divergence.window=16"};

std::vector<std::string> operator+(std::vector<std::string> words,
                                   const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_CASE("divergence: a gradient norm that stands out is an outlier under every policy") {
  const auto prepare = with({Fault::gradient, {20}, 1e4});
  MemoryRecorder stopped, skipped;
  const TinyRun stops(kOutliers),
      skips(kOutliers + std::vector<std::string>{"run.on_divergence=skip"});
  const Attempt end = make_attempt(stops, stopped, never_stop, at::kCPU, prepare);
  CHECK((end.result.end == End::diverged));
  CHECK(end.result.position.step == 20);
  CHECK(end.result.message.starts_with("the gradient norm of step 21 is "));
  CHECK(end.result.message.ends_with(
      " standard deviations above the mean of 16 steps; the update was not applied"));
  CHECK((make_attempt(skips, skipped, never_stop, at::kCPU, prepare).result.end == End::finished));
  CHECK(of_kind(skipped, "warning divergence: the gradient norm of step 21 is ").size() == 1);
}

TEST_CASE("divergence: a run that skips is resumed to the same bits") {
  const std::vector<std::string> skip{"run.on_divergence=skip"};
  check_exact(skip, 1, with({Fault::data, {3, 11, 12, 30}}));
  check_exact(skip + kOutliers, 2, with({Fault::gradient, {20, 28, 38}, 1e4}));
}

const std::vector<std::string> kRollback{"run.on_divergence=rollback"};

std::vector<int64_t> steps_of(const MemoryRecorder& recorder) {
  std::vector<int64_t> steps;
  for (const StepRecord& record : recorder.steps) steps.push_back(record.step);
  return steps;
}

TEST_CASE("divergence: a rollback goes on from the last checkpoint behind the data that did it") {
  for (const auto& [fault, said] : {std::pair(Fault::data, "the loss of step 10 is nan"),
                                    {Fault::gradient, "the gradient norm of step 10 is nan"},
                                    {Fault::weights, "the loss of step 10 is nan"}}) {
    const TinyRun run(kRollback);
    MemoryRecorder recorder;
    const Attempt ended = make_attempt(run, recorder, never_stop, at::kCPU, with({fault, {9}}));
    CHECK((ended.result.end == End::finished));
    CHECK(recorder.events ==
          std::vector<std::string>{"warning divergence: " + std::string(said) +
                                   "; the run goes back to step 7 and passes over the data of 3 "
                                   "steps"});
    CHECK(ended.result.position.divergence.passed_over == 3);
    const auto steps = steps_of(recorder);
    REQUIRE(steps.size() == 40);
    CHECK(std::is_sorted(steps.begin(), steps.end()));
    CHECK(*recorder.steps[6].passed_over_batches == 0);
    CHECK(*recorder.steps[7].passed_over_batches == 3);
  }
}

// Some batches are left out.
class ShortenedData : public Dataset {
 public:
  ShortenedData(std::unique_ptr<Dataset> data, int64_t first, int64_t batches)
      : data_(std::move(data)), first_(first), batches_(batches) {}
  Batch batch(Split split, int64_t first_sample, int64_t count) const override {
    const bool behind = split == Split::train && first_sample >= first_ * kBatch;
    return data_->batch(split, first_sample + (behind ? batches_ * kBatch : 0), count);
  }
  int64_t samples_per_epoch(Split split) const override { return data_->samples_per_epoch(split); }
  int64_t targets_per_sample() const override { return data_->targets_per_sample(); }

 private:
  std::unique_ptr<Dataset> data_;
  const int64_t first_, batches_;
};

TEST_CASE("divergence: after a rollback a run is one over data without what was passed over") {
  for (const char* optimizer :
       {"optimizer.lr=3e-3",
        R"(optimizer.groups.matrices={match=["*projection.weight"],type="muon",lr=1e-3})"}) {
    const std::vector<std::string> words{"model.dropout=0", optimizer};
    const TinyRun run(words + kRollback), shortened(words);
    MemoryRecorder recorder, expected;
    const Attempt ended =
        make_attempt(run, recorder, never_stop, at::kCPU, with({Fault::data, {9}}));
    const Attempt healthy =
        make_attempt(shortened, expected, never_stop, at::kCPU, [](Pipeline& pipeline) {
          pipeline.dataset = std::make_unique<ShortenedData>(std::move(pipeline.dataset), 7, 3);
        });
    check_equal(ended.tensors, healthy.tensors);
    CHECK(recorder.series().at("train/loss") == expected.series().at("train/loss"));
    CHECK(recorder.series().at("val/loss") == expected.series().at("val/loss"));
    CHECK(ended.result.position.best == healthy.result.position.best);
  }
}

TEST_CASE("divergence: a rollback before the first checkpoint begins anew") {
  const TinyRun run(kRollback);
  MemoryRecorder recorder;
  const Attempt ended = make_attempt(run, recorder, never_stop, at::kCPU, with({Fault::data, {2}}));
  CHECK((ended.result.end == End::finished));
  CHECK(
      recorder.events[0] ==
      "warning divergence: the loss of step 3 is nan; the run goes back to step 0 and passes over "
      "the data of 3 steps");
}

TEST_CASE("divergence: a run goes back to a checkpoint so many times, and no more") {
  const TinyRun run(kRollback + std::vector<std::string>{"run.divergence.max_in_row=2"});
  MemoryRecorder recorder;
  const Attempt ended =
      make_attempt(run, recorder, never_stop, at::kCPU, with({Fault::data, {3, 12, 13, 14}}));
  CHECK((ended.result.end == End::diverged));
  CHECK(ended.result.message ==
        "the loss of step 8 is nan; the update was not applied: the run has gone back 2 times to "
        "step 7, as often as run.divergence.max_in_row allows");
  CHECK(of_kind(recorder, "warning divergence: ").size() == 3);
}

// Memory that fails once, as step `step` ends.
class BreakingRecorder : public MemoryRecorder {
 public:
  BreakingRecorder(const Pipeline& pipeline, int64_t step) : pipeline_(pipeline), step_(step) {}
  void step(const StepRecord& record) override {
    MemoryRecorder::step(record);
    if (record.step != step_) return;
    step_ = -1;
    const at::NoGradGuard no_grad;
    pipeline_.train_state.parameters->find("final_norm.bias")->tensor.fill_(kNan);
  }

 private:
  const Pipeline& pipeline_;
  int64_t step_;
};

TEST_CASE("divergence: weights that are not finite are no checkpoint to go back to") {
  const TinyRun run(kRollback);
  const Pipeline pipeline = run.build();
  BreakingRecorder recorder(pipeline, 14);
  CheckpointLedger ledger;
  CheckpointWriter saver(RunFolder{run.folder()}, ledger, recorder, std::nullopt);
  CHECK((Trainer(pipeline, {recorder, &saver}).run().end == End::finished));
  CHECK(recorder.events ==
        std::vector<std::string>{
            "warning divergence: the weights after step 14 are not finite; no checkpoint was saved",
            "warning divergence: the loss of step 15 is nan; the run goes back to step 10 and "
            "passes over the data of 5 steps"});  // a new best was saved there
}

TEST_CASE("divergence: a run that goes back is resumed to the same bits") {
  check_exact(kRollback, 3, with({Fault::data, {2, 9, 16, 17, 18, 30, 44}}));
  check_exact(kRollback + kOutliers, 2, with({Fault::gradient, {20, 28, 38}, 1e4}));
  check_exact(kRollback + std::vector<std::string>{"precision.compute='fp16'"}, 1,
              with({Fault::gradient, {9, 30}}));
}

struct Trained {
  TrainingResult result;
  std::map<std::string, at::Tensor> tensors;
  std::vector<std::string> events;
};

// A fault on one of two ranks: what is summed reaches the other.
std::vector<Trained> on_two_ranks(const TinyRun& run, const Faults& faults) {
  return from_ranks<Trained>(2, [&](const auto& group) {
    at::set_num_threads(1);
    Pipeline pipeline = run.build(group);
    if (group->rank() == 1) with(faults)(pipeline);
    MemoryRecorder recorder;
    CheckpointLedger ledger;
    const RunFolder folder{run.folder()};
    std::unique_ptr<Saver> saver = std::make_unique<StateGiver>(folder);
    if (group->rank() == 0)
      saver = std::make_unique<CheckpointWriter>(folder, ledger, recorder, std::nullopt);
    const TrainingResult result = Trainer(pipeline, {recorder, saver.get(), never_stop}).run();
    return Trained{result, all_tensors(pipeline), recorder.events};
  });
}

TEST_CASE("divergence: all ranks decide alike") {
  for (const auto& [policy, said] :
       {std::pair("skip", "; the update was skipped"),
        {"rollback", "; the run goes back to step 7 and passes over the data of 3 steps"}}) {
    const TinyRun run({std::string("run.on_divergence=") + policy, "run.steps=12",
                       "model.dropout=0", "parallelism.world_size=2",
                       "parallelism.strategy='zero1'"});
    const auto ranks = on_two_ranks(run, {Fault::gradient, {9}});
    CHECK((ranks[0].result.end == End::finished));
    CHECK(ranks[0].result.position == ranks[1].result.position);
    CHECK(ranks[0].events ==
          std::vector<std::string>{"warning divergence: the gradient norm of step 10 is nan" +
                                   std::string(said)});
    CHECK(ranks[0].events == ranks[1].events);
    for (const auto& [name, tensor] : ranks[1].tensors)
      CHECK_MESSAGE(tensor.equal(ranks[0].tensors.at(name)), name);
  }
}

}  // namespace
}  // namespace exprun
