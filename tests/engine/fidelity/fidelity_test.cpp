// The training of nanoGPT's own code, replayed by exprun: its initial weights and batches, our
// model, optimizer, schedule, step and loop, on the fast kernels. Every setting is read from the
// recorded run.
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "engine/tiny_run.h"
#include "engine/trainer.h"
#include "support/recorded_run.h"

using namespace exprun;

namespace {

// The largest difference; the first that is not a number stays, for it is within no tolerance.
struct Worst {
  double difference = 0;
  int64_t at = -1;

  void look(int64_t k, double got, double expected) {
    const double now = std::abs(got - expected);
    if (std::isnan(difference) || now <= difference) return;
    difference = now;
    at = k;
  }
};

#define CHECK_WORST(worst, tolerance)                                                       \
  CHECK_MESSAGE((worst).difference <= (tolerance), #worst, ": off by ", (worst).difference, \
                " at update ", (worst).at, ", tolerance ", (tolerance))

void compare_steps(const RecordedRun& recorded, const std::vector<StepRecord>& steps) {
  const auto& curve = recorded.curve;
  Worst first_loss, loss_first_10, loss, grad_norm, lr;
  for (const auto& step : steps) {
    const int64_t k = step.step - 1;
    const auto i = static_cast<size_t>(k);
    const double expected = curve.at("loss").at(i);
    if (k == 0) first_loss.look(k, step.loss, expected);
    if (k < 10) loss_first_10.look(k, step.loss, expected);
    loss.look(k, step.loss, expected);
    grad_norm.look(k, step.grad_norm, curve.at("grad_norm").at(i));
    lr.look(k, step.lr, curve.at("lr").at(i));
  }
  const auto& tolerance = recorded.tolerances;
  CHECK_WORST(first_loss, tolerance.at("first_loss").get<double>());
  CHECK_WORST(loss_first_10, tolerance.at("loss_first_10").get<double>());
  CHECK_WORST(loss, tolerance.at("loss").get<double>());
  CHECK_WORST(grad_norm, tolerance.at("grad_norm").get<double>());
  CHECK_WORST(lr, 1e-15);
  MESSAGE(steps.size(), " updates: loss within ", loss.difference, ", gradient norm within ",
          grad_norm.difference, ", lr within ", lr.difference);
}

// nanoGPT's evaluation at iteration n precedes update n: ours at step n. Returns how many there
// were.
size_t compare_evaluations(const RecordedRun& recorded, const MemoryRecorder& recorder) {
  std::map<int64_t, double> measured;
  for (const auto& evaluated : recorder.evaluations)
    for (const auto& [metric, value] : evaluated.result.metrics) measured[evaluated.step] = value;
  Worst eval;
  for (const auto& expected : recorded.curve.at("eval")) {
    const auto found = measured.find(expected.at("iter").get<int64_t>());
    if (found != measured.end()) eval.look(found->first, found->second, expected.at("val"));
  }
  CHECK_WORST(eval, recorded.tolerances.at("eval").get<double>());
  return measured.size();
}

// Stops after so many updates: a part of a run has the schedule of the whole.
void replay(size_t updates) {
  const auto recorded = recorded_run();
  if (!recorded) return;
  const size_t all = recorded->curve.at("loss").size();
  updates = std::min(updates, all);
  ReplayedRun replayed(*recorded);
  MemoryRecorder recorder;
  TrainerLinks links{recorder};
  links.stop_requested = [&] {
    const bool enough = updates < all && recorder.steps.size() >= updates;
    return enough ? StopRequest::interrupt : StopRequest::none;
  };
  Trainer(replayed.pipeline, links).run();
  CHECK(recorder.steps.size() == updates);
  compare_steps(*recorded, recorder.steps);
  const auto evaluations = compare_evaluations(*recorded, recorder);
  if (updates == all) CHECK(evaluations == recorded->curve.at("eval").size());
}

}  // namespace

TEST_CASE("fidelity: a loss that is not a number stays the worst difference") {
  Worst worst;
  worst.look(0, 1.5, 1);
  worst.look(1, std::nan(""), 1);
  worst.look(2, 9, 1);
  CHECK(std::isnan(worst.difference));
  CHECK(worst.at == 1);
}

TEST_CASE("fidelity: the first 100 updates are nanoGPT's") {
  replay(100);
}

TEST_CASE("fidelity: every update and evaluation is nanoGPT's" * doctest::test_suite("slow")) {
  replay(std::numeric_limits<size_t>::max());
}
