// RMS normalisation of some rows.
#pragma once

#include <cstdint>

namespace exprun {

// What a normalised row is multiplied by: weight + offset, or 1 where `weight` is null.
struct RowScale {
  const float* weight;
  float offset;
};

// Rows are contiguous, `width` wide. Keeps 1 / sqrt(mean(x^2) + eps) of every row.
void rms_norm_rows(const float* x, RowScale scale, float eps, int64_t rows, int64_t width,
                   float* out, float* inverse_rms);

// of_weight (width) is added to; null where there is no weight.
void rms_norm_rows_gradient(const float* x, RowScale scale, const float* inverse_rms,
                            const float* of_out, int64_t rows, int64_t width, float* of_x,
                            float* of_weight);

}  // namespace exprun
