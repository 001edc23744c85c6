#include "kernels/cross_entropy.h"

#include <ATen/Parallel.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/model.h"
#include "kernels/instruction_set.h"
#include "kernels/kernel_choice.h"

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

// One row: its loss, and its gradient times `factor` in `out`, which may be the row.
template <class Out>
HWY_INLINE float loss_and_gradient(float* row, Out* out, int64_t vocab_size, int64_t columns,
                                   int64_t target, float factor) {
  const float shift = largest_of(row, vocab_size);
  const float of_target = row[target] - shift;
  const float total = exponentials(row, vocab_size, shift);
  const float probability = row[target] * (1 / total);
  const Floats scale = hn::Set(kFloats, 1 / total), factors = hn::Set(kFloats, factor);
  for_each_vector(vocab_size, [&](int64_t i, int64_t count) HWY_ATTR {
    const Floats softmax = hn::Mul(load_some(row + i, count), scale);
    store_some(out + i, hn::Mul(softmax, factors), count);
  });
  for_each_vector(columns - vocab_size, [&](int64_t i, int64_t count) HWY_ATTR {
    store_some(out + vocab_size + i, hn::Zero(kFloats), count);
  });
  store_some(out + target, hn::Set(kFloats, (probability - 1) * factor), 1);
  return std::log(total) - of_target;
}

float loss_of_row_fp32(void* row, float*, int64_t vocab_size, int64_t columns, int64_t target,
                       float factor) {
  auto* const values = static_cast<float*>(row);
  return loss_and_gradient(values, values, vocab_size, columns, target, factor);
}

// `wide` has room for a row.
float loss_of_row_bf16(void* row, float* wide, int64_t vocab_size, int64_t columns, int64_t target,
                       float factor) {
  auto* const values = static_cast<hwy::bfloat16_t*>(row);
  for_each_vector(vocab_size, [&](int64_t i, int64_t count) HWY_ATTR {
    store_some(wide + i, load_some(values + i, count), count);
  });
  return loss_and_gradient(wide, values, vocab_size, columns, target, factor);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exprun {
namespace {

HWY_EXPORT(loss_of_row_fp32);
HWY_EXPORT(loss_of_row_bf16);

// In fp32. A GPU's kernel reads fp16 by itself, which it takes no other narrow format for.
at::Tensor log_softmax(const at::Tensor& logits) {
  const bool widens = logits.is_cuda() && logits.scalar_type() == at::kHalf;
  return widens ? at::_log_softmax(logits, 1, /*half_to_float=*/true)
                : at::_log_softmax(logits.to(at::kFloat), 1, /*half_to_float=*/false);
}

double by_rows(at::Tensor& logits, const at::Tensor& targets, int64_t vocab_size, double factor) {
  const int64_t rows = logits.size(0), columns = logits.size(1);
  const auto row_bytes = static_cast<size_t>(columns) * logits.element_size();
  const bool is_bf16 = logits.scalar_type() == at::kBFloat16;
  auto* const data = static_cast<std::byte*>(logits.mutable_data_ptr());
  const auto* target = targets.const_data_ptr<int64_t>();
  std::vector<float> losses(static_cast<size_t>(rows));
  at::parallel_for(0, rows, std::max<int64_t>(1, 4096 / columns), [&](int64_t begin, int64_t end) {
    std::vector<float> wide(is_bf16 ? static_cast<size_t>(vocab_size) : 0);
    for (int64_t i = begin; i < end; ++i) {
      auto* const row = data + static_cast<size_t>(i) * row_bytes;
      if (target[i] < 0) {
        std::memset(row, 0, row_bytes);
        continue;
      }
      const auto& of_row =
          is_bf16 ? HWY_DYNAMIC_DISPATCH(loss_of_row_bf16) : HWY_DYNAMIC_DISPATCH(loss_of_row_fp32);
      losses[static_cast<size_t>(i)] =
          of_row(row, wide.data(), vocab_size, columns, target[i], static_cast<float>(factor));
    }
  });
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace

// Three passes over the logits and one over the mask of rows: a GPU does little else here.
at::Tensor cross_entropy_in_place_by_operators(at::Tensor& logits, const at::Tensor& targets,
                                               int64_t vocab_size, double factor) {
  logits.narrow(1, vocab_size, logits.size(1) - vocab_size)
      .fill_(-std::numeric_limits<double>::infinity());
  const auto uncounted = targets.lt(0).unsqueeze(1);      // (N, 1)
  const auto target = targets.clamp_min(0).unsqueeze(1);  // (N, 1)
  const auto logs = log_softmax(logits);
  const auto of_target = logs.gather(1, target);  // (N, 1)
  at::exp_out(logits, logs);
  logits.scatter_(1, target, of_target.exp().sub_(1).to(logits.scalar_type()));
  logits.masked_fill_(uncounted, 0);
  if (factor != 1) logits.mul_(factor);
  return of_target.masked_fill(uncounted, 0).sum(at::kDouble).neg_();
}

at::Tensor cross_entropy_in_place_ours(at::Tensor& logits, const at::Tensor& targets,
                                       int64_t vocab_size, double factor) {
  return at::scalar_tensor(by_rows(logits, targets, vocab_size, factor), at::kDouble);
}

at::Tensor cross_entropy_in_place(at::Tensor& logits, const at::Tensor& targets, int64_t vocab_size,
                                  double factor) {
  if (!logits.is_cpu() || !has_our_kernels())
    return cross_entropy_in_place_by_operators(logits, targets, vocab_size, factor);
  const autotune::Key key{
      logits.scalar_type() == at::kFloat ? "cross_entropy" : "cross_entropy_bf16",
      {autotune::Key::rounded(logits.size(0)), logits.size(1)}};
  const auto compute = [&](size_t way, at::Tensor& values) {
    const auto& kernel =
        way == 0 ? cross_entropy_in_place_ours : cross_entropy_in_place_by_operators;
    return kernel(values, targets, vocab_size, factor);
  };
  const auto chosen = autotune::choose(key, kOursOrAten, [&](size_t index) {
    auto copy = logits.clone();
    compute(index, copy);
  });
  return compute(chosen, logits);
}

at::Tensor cross_entropy_aten(const at::Tensor& logits, const at::Tensor& targets,
                              int64_t vocab_size) {
  return at::cross_entropy_loss(logits.narrow(-1, 0, vocab_size), targets, {}, at::Reduction::Sum,
                                kIgnoredTarget);
}

}  // namespace exprun
#endif
