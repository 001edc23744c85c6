// Low-rank adapters (Hu et al. 2021): beside the frozen weight W of a linear layer stands the
// product B A of two small matrices, which is trained instead; the layer computes with
// W + (alpha / rank) B A.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/section.h"

namespace exprun {

struct LoraSettings {
  int64_t rank = 0;
  double alpha = 0;
  double dropout = 0;  // of the adapter's input, in training
  std::vector<std::string> targets;
  std::vector<std::string> trained;  // globs over parameters that are trained beside adapters

  double scale() const { return alpha / static_cast<double>(rank); }
  // Whether a linear layer gets an adapter: "blocks.0.attention.query_key_value" matches a target
  // that is a glob of its name, or one of the words between its dots.
  bool adapts(std::string_view layer) const;
  // Whether a parameter, an adapter's or another, is trained.
  bool trains(std::string_view parameter) const;

  // [model.lora]; nothing without one.
  static std::optional<LoraSettings> read(const Section& model);
};

// The names of an adapter's parameters: A (rank, in) and B (out, rank).
inline constexpr std::string_view kLoraA = ".lora_a", kLoraB = ".lora_b";
bool is_adapter(std::string_view parameter);

}  // namespace exprun
