// Rotary position embeddings (Su et al. 2021): pairs of channels are turned by an angle that grows
// with the position.
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/documents.h"

namespace exprun {

// How the frequencies that a model was trained with are stretched to a longer context.
struct RopeScaling {
  // linear (Chen et al. 2023): all are divided by `factor`. llama3 (Llama 3.1): those whose
  // wavelength is beyond original_context_length / low_freq_factor, none below
  // original_context_length / high_freq_factor, and between them a part.
  enum class Form { none, linear, llama3 };
  Form form = Form::none;
  double factor = 1;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double original_context_length = 8192;
};

struct RotarySettings {
  // half_split pairs channel i with i + D/2, interleaved 2i with 2i + 1.
  enum class Layout { half_split, interleaved };
  // Counter-clockwise turns (a, b) to (a cos - b sin, b cos + a sin), as the paper and HuggingFace;
  // clockwise by the opposite angle, as modded-nanogpt.
  enum class Direction { clockwise, counter_clockwise };
  double theta = 10000;
  Layout layout = Layout::half_split;
  Direction direction = Direction::clockwise;
  RopeScaling scaling;
  at::ScalarType table = at::kFloat;  // what cosines and sines are rounded to
};

class Rotary {
 public:
  Rotary() = default;
  // `width`: of a head, even.
  Rotary(const RotarySettings& settings, int64_t width) : settings_(settings), width_(width) {}

  // (B, T, H, D), position `first` + t in row t; in the format of x. Differentiable.
  at::Tensor operator()(const at::Tensor& x, int64_t first = 0) const;
  // (1, N, H, D), where the documents place each row.
  at::Tensor operator()(const at::Tensor& x, const Documents& documents) const;

 private:
  struct Table {
    at::Tensor cosine;  // (1, T, 1, D / 2)
    at::Tensor sine;    // as the kernel of the layout turns by it
  };
  // For positions 0 to length - 1 at least; kept.
  const Table& table(int64_t length, at::Device device) const;
  at::Tensor turned(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine) const;

  RotarySettings settings_;
  int64_t width_ = 0;
  mutable Table table_;
};

}  // namespace exprun
