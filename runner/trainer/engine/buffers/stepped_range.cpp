#include "engine/buffers/stepped_range.h"

#include <ATen/ops/empty.h>

#include "engine/precision/stochastic_rounding.h"

namespace exprun {
namespace {

// Whoever has the tensor sees it go.
void free_memory(const at::Tensor& tensor) {
  tensor.set_data(at::empty({0}, tensor.options()));
}

}  // namespace

SteppedRange::SteppedRange(const FlatRange& stored, at::ScalarType format)
    : stored_(stored),
      seen_{stored.values.to(format), stored.gradients.to(format), stored.decays},
      copies_values_(stored.values.scalar_type() != format),
      copies_gradients_(stored.gradients.scalar_type() != format) {
  seen_.values.mutable_grad() = seen_.gradients;
}

void SteppedRange::fill() {
  const auto format = seen_.values.scalar_type();
  if (copies_values_) seen_.values.set_data(stored_.values.to(format));
  if (copies_gradients_) seen_.gradients.set_data(stored_.gradients.to(format));
}

void SteppedRange::store() {
  if (copies_values_) stored_.values.copy_(seen_.values);
}

void SteppedRange::store_stochastically(int64_t begin, int64_t count, uint64_t key, int64_t first) {
  const auto values = seen_.values.view(-1).narrow(0, begin, count);
  stored_.values.view(-1).narrow(0, begin, count).copy_(stochastically_rounded(values, key, first));
}

void SteppedRange::drop() {
  if (copies_values_) free_memory(seen_.values);
  if (copies_gradients_) free_memory(seen_.gradients);
}

}  // namespace exprun
