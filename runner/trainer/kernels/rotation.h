// Pairs of channels turned by an angle for each position: what rotary position embeddings do. In
// fp32 on a CPU by our kernel or by ATen's operators, whichever is the faster for the sizes; all
// else by ATen's.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

enum class ChannelPairs {
  halves,      // channels i and i + D/2: (a, b) becomes (a cos + b sin, b cos - a sin)
  neighbours,  // channels 2i and 2i + 1: (a, b) becomes (a cos - b sin, b cos + a sin)
};

// x (B, T, H, D); cosine and sine (1, T, 1, D / 2), of position t in row t, in any format. In the
// format of x; differentiable in x.
at::Tensor rotate(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                  ChannelPairs pairs);

// The same by our kernel: fp32 on a CPU.
at::Tensor rotate_ours(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                       ChannelPairs pairs);

// The same by ATen.
at::Tensor rotate_aten(const at::Tensor& x, const at::Tensor& cosine, const at::Tensor& sine,
                       ChannelPairs pairs);

}  // namespace exprun
