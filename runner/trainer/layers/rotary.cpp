#include "layers/rotary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>

#include "kernels/rotation.h"

namespace exprun {
const Rotary::Table& Rotary::table(int64_t length, at::Device device) const {
  if (table_.cosine.defined() && table_.cosine.size(1) >= length) return table_;
  const auto options = at::TensorOptions(device).dtype(at::kFloat);
  const auto channels = at::arange(0, width_, 2, options).div(static_cast<double>(width_));
  const auto frequencies = at::pow(settings_.theta, channels).reciprocal();
  const auto angles = at::outer(at::arange(length, options), frequencies).unsqueeze(0).unsqueeze(2);
  table_ = {angles.cos().to(settings_.table), angles.sin().to(settings_.table)};
  return table_;
}

at::Tensor Rotary::operator()(const at::Tensor& x) const {
  const int64_t length = x.size(1);
  const auto& [cosine, sine] = table(length, x.device());
  const auto pairs = settings_.layout == RotarySettings::Layout::half_split
                         ? ChannelPairs::halves
                         : ChannelPairs::neighbours;
  return rotate(x, cosine.narrow(1, 0, length), sine.narrow(1, 0, length), pairs);
}

}  // namespace exprun
