#include "engine/divergence/divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format_units.h"

namespace exprun {

DivergenceRule DivergenceRule::read(const Section& run) {
  DivergenceRule rule;
  const auto policy = run.get<std::string>("on_divergence");
  if (policy == "skip") rule.policy = OnDivergence::skip;
  if (policy == "rollback") rule.policy = OnDivergence::rollback;
  const Section divergence = run.table("divergence");
  rule.z_score = divergence.get<double>("z_score");
  rule.window = divergence.get<int64_t>("window");
  rule.most_in_row = divergence.get<int64_t>("max_in_row");
  return rule;
}

namespace {

double logarithm(double norm) {
  return std::log(std::max(norm, std::numeric_limits<double>::min()));
}

std::vector<double> logarithms(std::vector<double> norms) {
  for (double& norm : norms) norm = logarithm(norm);
  return norms;
}

}  // namespace

// In two passes over the values, so that no error of rounding adds up from step to step.
double z_score(const std::vector<double>& before, double value, int64_t window) {
  if (static_cast<int64_t>(before.size()) < window) return 0;
  const auto first = before.end() - (window - 1);
  const auto count = static_cast<double>(window);
  double sum = value;
  for (auto one = first; one != before.end(); ++one) sum += *one;
  const double mean = sum / count;
  double squares = (value - mean) * (value - mean);
  for (auto one = first; one != before.end(); ++one) squares += (*one - mean) * (*one - mean);
  return squares > 0 ? (value - mean) / std::sqrt(squares / count) : 0;
}

std::string divergence_of(const DivergenceRule& rule, const DivergenceState& state,
                          const StepSize& size, int64_t step) {
  const auto said = [step](const char* what, double value) {
    return std::string(what) + " of step " + std::to_string(step) + " is " + four_digits(value);
  };
  if (!std::isfinite(size.loss)) return said("the loss", size.loss);
  if (!std::isfinite(size.grad_norm)) return said("the gradient norm", size.grad_norm);
  if (rule.z_score == 0) return "";
  const std::string mean =
      " standard deviations above the mean of " + std::to_string(rule.window) + " steps";
  const double of_loss = z_score(state.losses, size.loss, rule.window);
  if (of_loss > rule.z_score) return said("the loss", size.loss) + ", " + fixed(of_loss, 1) + mean;
  const double of_norm =
      z_score(logarithms(state.grad_norms), logarithm(size.grad_norm), rule.window);
  if (of_norm <= rule.z_score) return "";
  return said("the gradient norm", size.grad_norm) + "; its logarithm is " + fixed(of_norm, 1) +
         mean;
}

namespace {

void push(std::vector<double>& values, double value, int64_t window) {
  if (!std::isfinite(value)) return;
  values.push_back(value);
  const auto excess = static_cast<int64_t>(values.size()) - window;
  values.erase(values.begin(), values.begin() + std::max<int64_t>(excess, 0));
}

}  // namespace

void remember(const DivergenceRule& rule, const StepSize& size, DivergenceState& state) {
  if (rule.z_score == 0) return;
  push(state.losses, size.loss, rule.window);
  // The logarithm of 0, of a batch without targets, would spread the others' over orders of
  // magnitude.
  if (size.grad_norm > 0) push(state.grad_norms, size.grad_norm, rule.window);
}

}  // namespace exprun
