// Rotary position embeddings (Su et al. 2021): pairs of channels are turned by an angle that grows
// with the position.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

struct RotarySettings {
  // half_split pairs channel i with i + D/2 and turns clockwise, as modded-nanogpt; interleaved
  // pairs 2i with 2i + 1 and turns counter-clockwise, as the paper.
  enum class Layout { half_split, interleaved };
  double theta = 10000;
  Layout layout = Layout::half_split;
  at::ScalarType table = at::kFloat;  // what cosines and sines are rounded to
};

class Rotary {
 public:
  Rotary() = default;
  // `width`: of a head, even.
  Rotary(const RotarySettings& settings, int64_t width) : settings_(settings), width_(width) {}

  // (B, T, H, D), position t in row t; in the format of x. Differentiable.
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  struct Table {
    at::Tensor cosine;  // (1, T, 1, D / 2)
    at::Tensor sine;
  };
  // For positions 0 to length - 1 at least; kept.
  const Table& table(int64_t length, at::Device device) const;

  RotarySettings settings_;
  int64_t width_ = 0;
  mutable Table table_;
};

}  // namespace exprun
