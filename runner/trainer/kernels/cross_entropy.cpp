#include "kernels/cross_entropy.h"

#include <ATen/Parallel.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/model.h"
#include "kernels/custom_function.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cross_entropy.cpp"
#include "hwy/foreach_target.h"
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE float largest_of(const float* row, int64_t size) {
  const Floats lowest = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
  Floats best = lowest;
  for_each_vector(size, [&](int64_t i, int64_t count) HWY_ATTR {
    Floats x = load_some(row + i, count);
    if (count < kLanes) x = hn::IfThenElse(first_lanes(count), x, lowest);
    best = hn::Max(best, x);
  });
  return largest(best);
}

// Replaces x by e^(x - shift); returns their sum.
HWY_INLINE float exponentials(float* row, int64_t size, float shift) {
  Floats total = hn::Zero(kFloats);
  for_each_vector(size, [&](int64_t i, int64_t count) HWY_ATTR {
    Floats e = exp(hn::Sub(load_some(row + i, count), hn::Set(kFloats, shift)));
    if (count < kLanes) e = hn::IfThenElseZero(first_lanes(count), e);
    store_some(row + i, e, count);
    total = hn::Add(total, e);
  });
  return sum(total);
}

// One row: its loss, and the row's gradient in place.
float loss_of_row(float* row, int64_t vocab_size, int64_t columns, int64_t target) {
  const float shift = largest_of(row, vocab_size);
  const float of_target = row[target] - shift;
  const float total = exponentials(row, vocab_size, shift);
  const Floats scale = hn::Set(kFloats, 1 / total);
  for_each_vector(vocab_size, [&](int64_t i, int64_t count) HWY_ATTR {
    store_some(row + i, hn::Mul(load_some(row + i, count), scale), count);
  });
  std::fill(row + vocab_size, row + columns, 0.0f);
  row[target] -= 1;
  return std::log(total) - of_target;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exprun {
namespace {

HWY_EXPORT(loss_of_row);

// In fp32. A GPU's kernel reads fp16 by itself, which it takes no other narrow format for.
at::Tensor log_softmax(const at::Tensor& logits) {
  const bool widens = logits.is_cuda() && logits.scalar_type() == at::kHalf;
  return widens ? at::_log_softmax(logits, 1, /*half_to_float=*/true)
                : at::_log_softmax(logits.to(at::kFloat), 1, /*half_to_float=*/false);
}

double by_rows(at::Tensor& logits, const at::Tensor& targets, int64_t vocab_size) {
  const int64_t rows = logits.size(0), columns = logits.size(1);
  auto* data = logits.mutable_data_ptr<float>();
  const auto* target = targets.const_data_ptr<int64_t>();
  std::vector<float> losses(static_cast<size_t>(rows));
  at::parallel_for(0, rows, std::max<int64_t>(1, 4096 / columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      auto* row = data + i * columns;
      if (target[i] >= 0)
        losses[static_cast<size_t>(i)] =
            HWY_DYNAMIC_DISPATCH(loss_of_row)(row, vocab_size, columns, target[i]);
      else
        std::fill_n(row, columns, 0.0f);
    }
  });
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace

// Three passes over the logits and one over the mask of rows: a GPU does little else here.
at::Tensor cross_entropy_in_place_by_operators(at::Tensor& logits, const at::Tensor& targets,
                                               int64_t vocab_size) {
  logits.narrow(1, vocab_size, logits.size(1) - vocab_size)
      .fill_(-std::numeric_limits<double>::infinity());
  const auto uncounted = targets.lt(0).unsqueeze(1);      // (N, 1)
  const auto target = targets.clamp_min(0).unsqueeze(1);  // (N, 1)
  const auto logs = log_softmax(logits);
  const auto of_target = logs.gather(1, target);  // (N, 1)
  at::exp_out(logits, logs);
  logits.scatter_(1, target, of_target.exp().sub_(1).to(logits.scalar_type()));
  logits.masked_fill_(uncounted, 0);
  return of_target.masked_fill(uncounted, 0).sum(at::kDouble).neg_();
}

at::Tensor cross_entropy_in_place_ours(at::Tensor& logits, const at::Tensor& targets,
                                       int64_t vocab_size) {
  return at::scalar_tensor(by_rows(logits, targets, vocab_size), at::kDouble);
}

at::Tensor cross_entropy_in_place(at::Tensor& logits, const at::Tensor& targets,
                                  int64_t vocab_size) {
  if (!logits.is_cpu() || !has_our_kernels())
    return cross_entropy_in_place_by_operators(logits, targets, vocab_size);
  const autotune::Key key{"cross_entropy",
                          {autotune::Key::rounded(logits.size(0)), logits.size(1)}};
  const auto chosen = autotune::choose(key, kOursOrAten, [&](size_t index) {
    auto copy = logits.clone();
    (index == 0 ? cross_entropy_in_place_ours : cross_entropy_in_place_by_operators)(copy, targets,
                                                                                     vocab_size);
  });
  return (chosen == 0 ? cross_entropy_in_place_ours : cross_entropy_in_place_by_operators)(
      logits, targets, vocab_size);
}

at::Tensor cross_entropy_reference(const at::Tensor& logits, const at::Tensor& targets,
                                   int64_t vocab_size) {
  return at::cross_entropy_loss(logits.narrow(-1, 0, vocab_size), targets, {}, at::Reduction::Sum,
                                kIgnoredTarget);
}

}  // namespace exprun
#endif
