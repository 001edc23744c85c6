#include "engine/buffers/flat_buffers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <stdexcept>

namespace exprun {
namespace {

int64_t padded(int64_t elements, int64_t unit) {
  return (elements + unit - 1) / unit * unit;
}

void check_like(const at::Tensor& first, const Parameter& parameter) {
  if (parameter.tensor.options().type_equal(first.options())) return;
  throw std::logic_error("flat buffer: '" + parameter.name + "' has another dtype or device");
}

}  // namespace

FlatBuffer::FlatBuffer(std::vector<Parameter> parameters, bool decays, int parts,
                       std::optional<at::ScalarType> gradients) {
  at::NoGradGuard no_grad;
  const at::Tensor first = parameters.at(0).tensor;
  const int64_t unit = kParameterAlignment / static_cast<int64_t>(first.element_size());
  int64_t size = 0;
  for (auto& parameter : parameters) {
    check_like(first, parameter);
    const int64_t offset = size;
    size += padded(parameter.tensor.numel(), unit);
    parameter_slices_.push_back({std::move(parameter), offset});
  }
  size = padded(size, unit * parts);
  const auto options = parameter_slices_.front().parameter.tensor.options().requires_grad(false);
  const at::ScalarType of_gradients = gradients.value_or(first.scalar_type());
  range_ = {at::zeros({size}, options), at::zeros({size}, options.dtype(of_gradients)), decays};
  for (auto& parameter_slice : parameter_slices_) {
    at::Tensor& tensor = parameter_slice.parameter.tensor;
    const at::Tensor view = cut(range_.values, parameter_slice);
    if (!tensor.is_meta()) view.copy_(tensor);
    tensor.set_data(view);
    // Backward adds what it has as it is; LibTorch would refuse another format than the tensor's.
    if (of_gradients != tensor.scalar_type()) tensor.set_grad_dtype(std::nullopt);
    tensor.mutable_grad() = cut(range_.gradients, parameter_slice);
  }
}

at::Tensor FlatBuffer::cut(const at::Tensor& flat, const ParameterSlice& parameter_slice) {
  const at::Tensor& tensor = parameter_slice.parameter.tensor;
  return flat.narrow(0, parameter_slice.offset, tensor.numel()).view(tensor.sizes());
}

}  // namespace exprun
