#include "engine/precision/stochastic_rounding.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>

namespace exprun {
namespace {

constexpr int64_t kBits = 1 << 16;  // of the noise

at::Tensor drawn_noise(int64_t first, int64_t count, uint64_t key) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(key);
  return at::randint(0, kBits, {first + count}, generator, at::TensorOptions().dtype(at::kInt))
      .slice(0, first);
}

}  // namespace

// Two rounds of a multiplication that carries and a shift that brings high bits down (the finish of
// Steele et al. 2014, SplitMix), in 32 bits each so that no product overflows 63.
at::Tensor hashed_noise(int64_t first, int64_t count, uint64_t key, at::Device device) {
  constexpr int64_t kMask = 0xffffffff;
  const auto low = static_cast<int64_t>(key & 0x7fffffff);
  const auto high = static_cast<int64_t>(key >> 33);
  const auto options = at::TensorOptions(device).dtype(at::kLong);
  auto bits = at::arange(first, first + count, options).bitwise_xor_(low);
  for (const int64_t odd : {int64_t{0x7feb352d}, int64_t{0x6c68e9b5}}) {
    bits.bitwise_and_(kMask).mul_(odd).add_(high);
    bits.bitwise_and_(kMask).bitwise_xor_(bits.bitwise_right_shift(15));
  }
  return bits.bitwise_right_shift(16).bitwise_and_(kBits - 1).to(at::kInt);
}

// The lower 16 bits of an fp32 are what bf16 cuts off: noise below one step, added before the cut,
// carries into the upper bits as often as they say. A GPU makes its noise itself.
at::Tensor stochastically_rounded(const at::Tensor& values, uint64_t key, int64_t first) {
  const auto noise = values.is_cpu() ? drawn_noise(first, values.numel(), key)
                                     : hashed_noise(first, values.numel(), key, values.device());
  const auto bits = values.view(at::kInt).add(noise);
  const auto cut = bits.bitwise_and_(static_cast<int64_t>(-65536)).view(at::kFloat);
  return cut.to(at::kBFloat16);
}

}  // namespace exprun
