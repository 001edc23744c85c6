#include "kernels/attention/decoding_attention.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/attention/attention_aten.h"
#include "kernels/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/decoding_attention.cpp"
#include "hwy/foreach_target.h"
//
#include "kernels/matrix-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {
namespace {

// scores -> e^(scale (score - the largest)); returns their sum.
float exponentials(float* scores, int64_t count, float scale) {
  Floats most = hn::Set(kFloats, scores[0]);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) most = hn::Max(most, load(scores + i));
  float top = largest(most);
  for (; i < count; ++i) top = std::max(top, scores[i]);
  // The difference first: the product alone would be rounded to more than 1 for very large scores.
  const Floats factor = hn::Set(kFloats, scale), shift = hn::Set(kFloats, top);
  Floats total = hn::Zero(kFloats);
  for_each_vector(count, [&](int64_t at, int64_t some) HWY_ATTR {
    const Floats e = exp(hn::Mul(hn::Sub(load_some(scores + at, some), shift), factor));
    store_some(scores + at, e, some);
    total = hn::Add(total, load_some(scores + at, some));  // without the lanes past the end
  });
  return sum(total);
}

// The sum of rows (count, size), each times its weight, divided by `total`. Four sums of a vector
// at a time hide the latency of an addition.
template <class Element>
void weighted_sum(const float* weights, const Element* rows, int64_t count, int64_t size,
                  float total, float* out) {
  const Floats factor = hn::Set(kFloats, 1 / total);
  for_each_vector(size, [&](int64_t at, int64_t some) HWY_ATTR {
    Floats sums[4] = {hn::Zero(kFloats), hn::Zero(kFloats), hn::Zero(kFloats), hn::Zero(kFloats)};
    const Element* row = rows + at;
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
      for (int64_t k = 0; k < 4; ++k, row += size)
        sums[k] = hn::MulAdd(hn::Set(kFloats, weights[i + k]), load_some(row, some), sums[k]);
    for (; i < count; ++i, row += size)
      sums[0] = hn::MulAdd(hn::Set(kFloats, weights[i]), load_some(row, some), sums[0]);
    const Floats all = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
    store_some(out + at, hn::Mul(all, factor), some);
  });
}

template <class Element>
void attend(const float* query, const Element* keys, const Element* values, int64_t count,
            int64_t size, float* scores, float* out) {
  dot_products(query, keys, size, count, scores);
  const float total = exponentials(scores, count, 1 / std::sqrt(static_cast<float>(size)));
  weighted_sum(scores, values, count, size, total, out);
}

void attend_fp32(const float* query, const void* keys, const void* values, int64_t count,
                 int64_t size, float* scores, float* out) {
  attend(query, static_cast<const float*>(keys), static_cast<const float*>(values), count, size,
         scores, out);
}

void attend_bf16(const float* query, const void* keys, const void* values, int64_t count,
                 int64_t size, float* scores, float* out) {
  attend(query, static_cast<const hwy::bfloat16_t*>(keys),
         static_cast<const hwy::bfloat16_t*>(values), count, size, scores, out);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exprun {
namespace {

HWY_EXPORT(attend_fp32);
HWY_EXPORT(attend_bf16);

constexpr int64_t kGrain = 32768;  // products that a thread takes at a time

// Positions of a head one after another.
bool has_rows(const at::Tensor& heads) {
  return heads.stride(3) == 1 && heads.stride(2) == heads.size(3);
}

bool may_be_ours(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  const auto format = key.scalar_type();
  return has_our_kernels() && query.is_cpu() && query.scalar_type() == format &&
         (format == at::kFloat || format == at::kBFloat16) && has_rows(key) && has_rows(value);
}

const std::byte* head_of(const at::Tensor& heads, int64_t text, int64_t head) {
  const int64_t element = text * heads.stride(0) + head * heads.stride(1);
  return static_cast<const std::byte*>(heads.const_data_ptr()) +
         element * static_cast<int64_t>(heads.element_size());
}

}  // namespace

at::Tensor decoding_attention_ours(const at::Tensor& query, const at::Tensor& key,
                                   const at::Tensor& value) {
  const int64_t heads = query.size(2), size = query.size(3), count = key.size(2);
  const int64_t sharing = heads / key.size(1);
  const auto wide = query.to(at::kFloat).contiguous();
  auto mixed = at::empty({query.size(0), 1, heads * size}, wide.options());
  const auto* from = wide.const_data_ptr<float>();
  auto* to = mixed.mutable_data_ptr<float>();
  const bool is_bf16 = key.scalar_type() == at::kBFloat16;
  const int64_t grain = std::max<int64_t>(1, kGrain / (count * size));
  at::parallel_for(0, query.size(0) * heads, grain, [&](int64_t begin, int64_t end) {
    std::vector<float> scores(static_cast<size_t>(count));
    for (int64_t i = begin; i < end; ++i) {
      const auto* keys = head_of(key, i / heads, i % heads / sharing);
      const auto* values = head_of(value, i / heads, i % heads / sharing);
      if (is_bf16) HWY_DYNAMIC_DISPATCH(attend_bf16)
      (from + i * size, keys, values, count, size, scores.data(), to + i * size);
      else HWY_DYNAMIC_DISPATCH(attend_fp32)(from + i * size, keys, values, count, size,
                                             scores.data(), to + i * size);
    }
  });
  return mixed.to(query.scalar_type());
}

at::Tensor decoding_attention(const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value) {
  if (may_be_ours(query, key, value)) return decoding_attention_ours(query, key, value);
  return decoding_attention_aten(query, key, value);
}

at::Tensor decoding_attention_aten(const at::Tensor& query, const at::Tensor& key,
                                   const at::Tensor& value) {
  return attention_aten(query.transpose(1, 2), key, value, {.shapes = Shapes::vary});
}

}  // namespace exprun
#endif
