#include "engine/inference/sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace exprun {
namespace {

std::vector<double> to_vector(const at::Tensor& logits) {
  const at::Tensor values = logits.to(at::kCPU, at::kDouble).contiguous();
  const double* first = values.const_data_ptr<double>();
  return {first, first + values.numel()};
}

// The smallest logit that may still be drawn.
double threshold(std::vector<double> logits, int64_t top_k) {
  if (top_k <= 0 || top_k >= static_cast<int64_t>(logits.size()))
    return -std::numeric_limits<double>::infinity();
  const auto kth = logits.begin() + (top_k - 1);
  std::nth_element(logits.begin(), kth, logits.end(), std::greater<>());
  return *kth;
}

// The fewest tokens that have `top_p` of the probability, the most likely first.
void keep_nucleus(std::vector<double>& probabilities, double top_p) {
  std::vector<size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return probabilities[a] > probabilities[b]; });
  double kept = 0;
  for (const size_t token : order) {
    if (kept >= top_p)
      probabilities[token] = 0;
    else
      kept += probabilities[token];
  }
  for (double& probability : probabilities) probability /= kept;
}

}  // namespace

std::vector<double> token_probabilities(const at::Tensor& logits, double temperature, int64_t top_k,
                                        double top_p) {
  std::vector<double> values = to_vector(logits);
  const auto largest = std::max_element(values.begin(), values.end());
  if (temperature == 0) {
    std::vector<double> greedy(values.size(), 0.0);
    greedy[static_cast<size_t>(largest - values.begin())] = 1;
    return greedy;
  }
  const double smallest = threshold(values, top_k), most = *largest;
  double sum = 0;
  for (double& value : values) {
    value = value < smallest ? 0 : std::exp((value - most) / temperature);
    sum += value;
  }
  for (double& value : values) value /= sum;
  if (top_p < 1) keep_nucleus(values, top_p);
  return values;
}

int64_t draw_token(const std::vector<double>& probabilities, double uniform) {
  int64_t last_possible = 0;
  for (size_t token = 0; token < probabilities.size(); ++token) {
    if (probabilities[token] == 0) continue;
    last_possible = static_cast<int64_t>(token);
    uniform -= probabilities[token];
    if (uniform < 0) break;
  }
  return last_possible;
}

}  // namespace exprun
