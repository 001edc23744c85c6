// Causal attention of the heads of one sequence that share a key and a value, vectorised (Highway).
#pragma once

#include <cstdint>

namespace exprun {

// Rows of a (T, D) matrix, `stride` apart; the next head's begins D elements later.
struct HeadRows {
  const float* data;
  int64_t stride;
};

struct WritableHeadRows {
  float* data;
  int64_t stride;
};

struct HeadShape {
  int64_t length;       // T
  int64_t width;        // D
  int64_t num_queries;  // query heads that share the key and the value
  float scale;          // of the scores

  int64_t forward_scratch() const;  // floats
  int64_t backward_scratch() const;
};

struct HeadInputs {
  HeadRows query;  // of the first query head
  HeadRows key;
  HeadRows value;
};

struct HeadGradients {
  WritableHeadRows query;
  WritableHeadRows key;
  WritableHeadRows value;
};

// How a row of scores became weights: weight = exp((score - largest) scale) inverse_total.
struct RowSoftmax {
  float largest;
  float inverse_total;
};

// `softmax`: of every query head and position, (num_queries, T).
void attention_heads(const HeadShape& shape, const HeadInputs& inputs, const WritableHeadRows& out,
                     RowSoftmax* softmax, float* scratch);

// `out` and `softmax` as attention_heads made them. The weights are computed again: that is cheaper
// than to keep them.
void attention_heads_gradient(const HeadShape& shape, const HeadInputs& inputs, const HeadRows& out,
                              const RowSoftmax* softmax, const HeadRows& out_gradient,
                              const HeadGradients& gradients, float* scratch);

}  // namespace exprun
