#include "layers/rotary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>

#include <algorithm>
#include <bit>
#include <numbers>

#include "kernels/rotation.h"

namespace exprun {
namespace {

at::Tensor scaled(const at::Tensor& frequencies, const RopeScaling& scaling) {
  if (scaling.form == RopeScaling::Form::none) return frequencies;
  const auto slow = frequencies.div(scaling.factor);
  if (scaling.form == RopeScaling::Form::linear) return slow;
  const auto turns =
      frequencies.mul(scaling.original_context_length / (2 * std::numbers::pi));  // in the context
  const auto kept = turns.sub(scaling.low_freq_factor)
                        .div(scaling.high_freq_factor - scaling.low_freq_factor)
                        .clamp(0, 1);
  return frequencies.mul(kept).add(slow.mul(kept.neg().add(1)));
}

// What rotate() does with its sines for the layout.
RotarySettings::Direction direction_of_kernel(RotarySettings::Layout layout) {
  return layout == RotarySettings::Layout::half_split
             ? RotarySettings::Direction::clockwise
             : RotarySettings::Direction::counter_clockwise;
}

}  // namespace

const Rotary::Table& Rotary::table(int64_t length, at::Device device) const {
  if (table_.cosine.defined() && table_.cosine.size(1) >= length) return table_;
  // Whole vectors of the processor: a row has the same bits however many rows there are.
  length =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(length, 16))));
  const auto options = at::TensorOptions(device).dtype(at::kFloat);
  const auto channels = at::arange(0, width_, 2, options).div(static_cast<double>(width_));
  const auto frequencies =
      scaled(at::pow(settings_.theta, channels).reciprocal(), settings_.scaling);
  const auto angles = at::outer(at::arange(length, options), frequencies).unsqueeze(0).unsqueeze(2);
  const bool opposite = settings_.direction != direction_of_kernel(settings_.layout);
  const auto sine = angles.sin().to(settings_.table);
  table_ = {angles.cos().to(settings_.table), opposite ? sine.neg() : sine};
  return table_;
}

at::Tensor Rotary::operator()(const at::Tensor& x, int64_t first) const {
  const int64_t length = x.size(1);
  const auto& [cosine, sine] = table(first + length, x.device());
  return turned(x, cosine.narrow(1, first, length), sine.narrow(1, first, length));
}

at::Tensor Rotary::operator()(const at::Tensor& x, const Documents& documents) const {
  const auto& lengths = documents.lengths;
  const auto& [cosine, sine] = table(*std::max_element(lengths.begin(), lengths.end()), x.device());
  return turned(x, cosine.index_select(1, documents.positions),
                sine.index_select(1, documents.positions));
}

at::Tensor Rotary::turned(const at::Tensor& x, const at::Tensor& cosine,
                          const at::Tensor& sine) const {
  const auto pairs = settings_.layout == RotarySettings::Layout::half_split
                         ? ChannelPairs::halves
                         : ChannelPairs::neighbours;
  return rotate(x, cosine, sine, pairs);
}

}  // namespace exprun
