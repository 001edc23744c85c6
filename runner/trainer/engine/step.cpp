#include "engine/step.h"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/format_units.h"
#include "base/random.h"
#include "engine/device/cpu_memory.h"
#include "engine/device/device.h"
#include "engine/parameter.h"

namespace exprun {
namespace {

// That backward reaches every parameter that is trained: a model has none that its forward does not
// use, and only frozen ones get no gradient. Gradients are views that exist before backward, so
// hooks tell which of them it really reached.
class GradientCheck {
 public:
  // Watches the next backward; the destructor takes the hooks away again.
  explicit GradientCheck(const ParameterList& parameters);
  ~GradientCheck();
  GradientCheck(const GradientCheck&) = delete;
  GradientCheck& operator=(const GradientCheck&) = delete;

  // Throws std::logic_error that names the parameters without a gradient.
  void require_all() const;

 private:
  std::vector<Parameter> parameters_;  // that are trained
  std::shared_ptr<std::vector<char>> reached_;
  std::vector<unsigned> hooks_;
};

GradientCheck::GradientCheck(const ParameterList& parameters) {
  for (const Parameter& parameter : parameters.items())
    if (!parameter.is_frozen()) parameters_.push_back(parameter);
  reached_ = std::make_shared<std::vector<char>>(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i)
    hooks_.push_back(parameters_[i].tensor.register_hook(
        [reached = reached_, i](const at::Tensor&) { reached->at(i) = true; }));
}

GradientCheck::~GradientCheck() {
  for (size_t i = 0; i < hooks_.size(); ++i) parameters_[i].tensor.remove_hook(hooks_[i]);
}

void GradientCheck::require_all() const {
  std::string missing;
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (!reached_->at(i)) missing += (missing.empty() ? "'" : ", '") + parameters_[i].name + "'";
  if (missing.empty()) return;
  throw std::logic_error("model: no gradient reached " + missing +
                         ": its forward pass does not use it");
}

// Random numbers are a function of (seed, update, first sample of the micro-batch) alone.
void seed_generator(at::Device device, int64_t seed, int64_t k, int64_t first_sample) {
  auto generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(
      random_bits({static_cast<uint64_t>(seed), random_word("training"), static_cast<uint64_t>(k),
                   static_cast<uint64_t>(first_sample)}));
}

struct Sums {
  double loss, squares;
};

// Over all ranks. The one time in a step that the host waits for a device, and for the other ranks'
// numbers: everything comes over at once.
Sums summed(ProcessGroup& group, const at::Tensor& loss, std::vector<at::Tensor> squares) {
  squares.insert(squares.begin(), loss);
  const at::Tensor numbers = at::stack(squares).cpu();
  const auto* all = numbers.const_data_ptr<double>();
  const auto sums =
      sum_over_ranks(group, {all[0], std::accumulate(all + 1, all + numbers.numel(), 0.0)});
  return {sums[0], sums[1]};
}

// As torch.nn.utils.clip_grad_norm_: the small number keeps a zero norm harmless.
double clip_coefficient(double max_norm, double norm) {
  return std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace

void StepTimer::start() {
  times_ = {};
  if (on_) since_ = std::chrono::steady_clock::now();
}

void StepTimer::lap(double StepTimes::*part) {
  if (!on_) return;
  await(device_);
  const auto now = std::chrono::steady_clock::now();
  times_.*part += std::chrono::duration<double, std::milli>(now - since_).count();
  since_ = now;
}

TrainingStep::TrainingStep(const Pipeline& pipeline, std::function<bool()> stop_requested,
                           std::function<bool(const StepResult&)> diverged)
    : pipeline_(pipeline),
      stop_requested_(std::move(stop_requested)),
      diverged_(std::move(diverged)),
      timer_(pipeline.plan.timers, pipeline.model().device()) {}

StepResult TrainingStep::run(int64_t k, int64_t passed_over) {
  const RunPlan& plan = pipeline_.plan;
  timer_.start();
  const auto share = pipeline_.share();
  const Batch batch = pipeline_.read(
      Split::train, (k + passed_over) * plan.batch.stride + share.first, share.count);
  const int64_t first_sample = (k + passed_over) * plan.batch.sequences + share.first;
  const auto counts = sum_over_ranks(*pipeline_.group, {static_cast<double>(batch.counted_targets),
                                                        static_cast<double>(batch.tokens())});
  const double valid_tokens = counts[0];
  timer_.lap(&StepTimes::data);

  StepResult result = gradients(k, first_sample, batch, valid_tokens);
  while (result.end == StepResult::End::diverged && plan.scales_loss) {
    loss_scale_.overflowed();
    if (loss_scale_.is_hopeless()) return result;
    result = gradients(k, first_sample, batch, valid_tokens);
  }
  if (result.end != StepResult::End::completed) return result;
  if (k == 0) check_initial_loss(result.loss);
  if (diverged_(result)) {
    result.end = StepResult::End::diverged;
    return result;
  }
  clip(result.grad_norm);
  pipeline_.optimizers().step(lr_factor(k), k + 1 - optimizer_start_);
  if (const auto& average = pipeline_.train_state.average) {
    pipeline_.optimizers().await_values();
    average->update();
  }
  if (!pipeline_.model().announces_use()) pipeline_.optimizers().await_values();
  if (plan.scales_loss) loss_scale_.updated();
  end_round_of_cpu_memory();
  timer_.lap(&StepTimes::update);
  result.times = timer_.times();
  result.tokens = static_cast<int64_t>(counts[1]);
  return result;
}

double TrainingStep::lr_factor(int64_t k) const {
  return pipeline_.schedule->factor(k) * pipeline_.plan.lr_scale;
}

StepResult TrainingStep::gradients(int64_t k, int64_t first_sample, const Batch& batch,
                                   double valid_tokens) {
  Optimizers& optimizers = pipeline_.optimizers();
  pipeline_.model().set_training(true);
  optimizers.zero_gradients();
  const auto loss_sum = accumulate(k, first_sample, batch, valid_tokens);
  if (!loss_sum) return {StepResult::End::stopped};
  if (pipeline_.plan.scales_loss) optimizers.scale_gradients(1 / loss_scale_.value);

  StepResult result;
  result.lr = optimizers.lr(lr_factor(k));
  const auto [loss, squares] = summed(*pipeline_.group, *loss_sum, optimizers.squared_gradients());
  result.loss = loss / valid_tokens;
  result.grad_norm = std::sqrt(squares);
  if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm))
    result.end = StepResult::End::diverged;
  return result;
}

// What a device is asked to do is only waited for at the end, when the sum is read.
std::optional<at::Tensor> TrainingStep::accumulate(int64_t k, int64_t first_sample,
                                                   const Batch& batch, double valid_tokens) {
  const RunPlan& plan = pipeline_.plan;
  Optimizers& optimizers = pipeline_.optimizers();
  const auto share = pipeline_.share();
  const at::Device device = pipeline_.model().device();
  const auto loss_sum = at::zeros({}, at::TensorOptions(device).dtype(at::kDouble));
  const double gradient_of_sum = (plan.scales_loss ? loss_scale_.value : 1) / valid_tokens;
  pipeline_.model().promise_loss_gradient(gradient_of_sum);
  for (int64_t first = 0; first < share.count; first += plan.batch.micro_batch) {
    const int64_t count = std::min(plan.batch.micro_batch, share.count - first);
    const bool is_last = first + count == share.count;
    seed_generator(device, plan.seed, k, first_sample + first);
    const at::Tensor loss = loss_sum_of(pipeline_.model(), batch.part(first, count));
    loss_sum.add_(loss.detach());
    timer_.lap(&StepTimes::forward);
    if (is_last) optimizers.begin_gradient_reduction();
    backward(loss, gradient_of_sum);
    if (is_last) optimizers.finish_gradient_reduction();
    timer_.lap(&StepTimes::backward);
    if (stop_requested_()) return std::nullopt;
  }
  return loss_sum;
}

void TrainingStep::backward(const at::Tensor& loss_sum, double gradient_of_sum) {
  std::optional<GradientCheck> check;
  if (!gradients_checked_) check.emplace(*pipeline_.train_state.parameters);
  loss_sum.backward(at::full({}, gradient_of_sum, loss_sum.options().requires_grad(false)));
  if (check) check->require_all();
  gradients_checked_ = true;
}

void TrainingStep::check_initial_loss(double loss) const {
  constexpr double kTolerance = 0.05;
  const auto& expected = pipeline_.plan.expected_initial_loss;
  if (!expected || std::abs(loss - *expected) <= kTolerance * *expected) return;
  throw pipeline_.recipe.section("run").error(
      "expect_initial_loss",
      "the loss of the first step is " + shortest(loss) + ", not within 5% of " +
          shortest(*expected),
      "the initial weights or the vocabulary are not what the recipe assumes");
}

void TrainingStep::clip(double norm) {
  const double limit = pipeline_.plan.max_grad_norm;
  if (limit == 0) return;
  const double coefficient = clip_coefficient(limit, norm);
  if (coefficient < 1) pipeline_.optimizers().scale_gradients(coefficient);
}

}  // namespace exprun
