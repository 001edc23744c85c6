// Attention of one head of one sequence.
#pragma once

#include <cstdint>

namespace exprun {

struct HeadShape {
  int64_t length;  // T
  int64_t width;   // D
  int64_t stride;  // between positions of queries, keys and values
  float scale;     // of the scores

  int64_t padded_length() const { return (length + 15) / 16 * 16; }
  int64_t padded_width() const { return (width + 15) / 16 * 16; }
  int64_t scratch_size() const;  // floats
};

struct HeadInputs {
  const float* query;
  const float* key;
  const float* value;
};

struct HeadGradients {
  float* query;
  float* key;
  float* value;
};

// out: T rows, `out_stride` apart.
void attention_head(const HeadShape& shape, const HeadInputs& inputs, float* out,
                    int64_t out_stride, float* scratch);

// Computes the weights again: that is cheaper than to keep them. Gradients have the inputs' stride.
void attention_head_gradient(const HeadShape& shape, const HeadInputs& inputs,
                             const float* out_gradient, int64_t out_stride,
                             const HeadGradients& gradients, float* scratch);

}  // namespace exprun
