// Where each tensor of another system lies in the parameters of a recipe's model: one plan, which
// import follows one way and export the other.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/parameter.h"
#include "huggingface/tensor_names.h"
#include "recipe/section.h"

namespace exprun {

// Which channel of a head is which. HuggingFace pairs i with i + D/2 and turns counter-clockwise;
// a model that pairs or turns otherwise computes the same with the rows of its queries and keys in
// another order.
struct HeadOrder {
  int64_t head_dim = 1;
  bool interleaved = false;  // the two of a pair are neighbours
  bool swapped = false;      // the second of a pair comes first

  bool is_theirs() const { return !interleaved && !swapped; }
  // Rows (H D, ...), or (D) of a norm.
  at::Tensor to_theirs(const at::Tensor& rows) const;
  at::Tensor from_theirs(const at::Tensor& rows) const;
};

// Rows of a parameter of ours.
struct TensorPart {
  std::string parameter;
  int64_t first_row = 0;
  int64_t rows = 0;
  bool turned = false;  // of queries or keys: in the HeadOrder
};

struct PlannedTensor {
  std::string name;               // theirs
  std::vector<int64_t> shape;     // theirs
  bool transposed = false;        // they have (in, out)
  bool of_vocabulary = false;     // its rows are tokens
  std::vector<TensorPart> parts;  // its rows in order; none: ours has no such parameter
  std::optional<double> absent;   // what all of it is then, if it is written at all
};

struct TensorPlan {
  std::vector<PlannedTensor> tensors;
  HeadOrder order;
  std::vector<std::string> ignored;  // globs of what they store and never use
  std::string prefix;                // which some files leave out
  // How many rows of the vocabulary are tokens, where others pad it; foreign plans leave those out.
  std::optional<int64_t> vocab_size;
  std::vector<std::string> unplanned;  // parameters of ours that they have no name for
};

// For a `gpt`. Rows that pad the vocabulary are no part of theirs.
TensorPlan foreign_plan(const TensorNames& names, const std::vector<Parameter>& parameters,
                        const Section& model);

// The parameters whose rows are tokens.
inline constexpr const char* kEmbedding = "token_embedding.weight";
inline constexpr const char* kHead = "head.weight";

// Our own names and layout, whatever the model.
TensorPlan own_plan(const std::vector<Parameter>& parameters,
                    std::optional<int64_t> vocab_size = std::nullopt);

// One of their tensors, put together from ours, which `ours` gives by name.
using ByName = std::function<at::Tensor(const std::string& parameter)>;
at::Tensor assembled(const PlannedTensor& planned, const HeadOrder& order, const ByName& ours);

}  // namespace exprun
