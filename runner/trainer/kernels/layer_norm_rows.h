// Layer normalisation of some rows.
#pragma once

#include <cstdint>

namespace exprun {

struct RowStatistics {
  float mean;
  float inverse_deviation;
};

// `bias` may be null. Rows are contiguous, `width` wide.
void layer_norm_rows(const float* x, const float* weight, const float* bias, float eps,
                     int64_t rows, int64_t width, float* out, RowStatistics* statistics);

struct LayerNormGradients {
  float* x;       // like x
  float* weight;  // (width), added to
  float* bias;    // (width), added to
};

void layer_norm_rows_gradient(const float* x, const float* weight, const RowStatistics* statistics,
                              const float* of_out, int64_t rows, int64_t width,
                              const LayerNormGradients& gradients);

}  // namespace exprun
