#include "engine/stochastic_rounding.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>

namespace exprun {

// The lower 16 bits of an fp32 are what bf16 cuts off: noise below one step, added before the cut,
// carries into the upper bits as often as they say.
at::Tensor stochastically_rounded(const at::Tensor& values, uint64_t key, int64_t first) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(key);
  const auto noise = at::randint(0, 1 << 16, {first + values.numel()}, generator,
                                 at::TensorOptions().dtype(at::kInt))
                         .slice(0, first);
  const auto bits = values.view(at::kInt).add(noise.to(values.device()));
  const auto cut = bits.bitwise_and_(static_cast<int64_t>(-65536)).view(at::kFloat);
  return cut.to(at::kBFloat16);
}

// The tensors are filled before each step; their size is all that an optimizer needs to start.
RoundedRange::RoundedRange(const FlatRange& narrow)
    : narrow_(narrow),
      wide_{narrow.values.to(at::kFloat), narrow.gradients.to(at::kFloat), narrow.decays} {}

void RoundedRange::widen() {
  wide_.values.set_data(narrow_.values.to(at::kFloat));
  wide_.gradients.set_data(narrow_.gradients.to(at::kFloat));
}

void RoundedRange::round(int64_t begin, int64_t count, uint64_t key, int64_t first) {
  const auto values = wide_.values.narrow(0, begin, count);
  narrow_.values.narrow(0, begin, count).copy_(stochastically_rounded(values, key, first));
}

void RoundedRange::drop() {
  wide_.values.set_data(at::empty({0}, wide_.values.options()));
  wide_.gradients.set_data(at::empty({0}, wide_.gradients.options()));
}

}  // namespace exprun
