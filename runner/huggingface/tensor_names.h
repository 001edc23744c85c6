// What HuggingFace's transformers calls the parameters of `gpt`: a table for each architecture that
// import and export read. To add one, write its table here and its keys in model_config.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

// In both names `*` is the same number of a block. Queries, keys and values that are apart on one
// side and one matrix on the other are cut and joined.
struct TensorRule {
  std::string ours;         // "blocks.*.attention.output_projection.weight"
  std::string theirs;       // "transformer.h.*.attn.c_proj.weight"
  bool transposed = false;  // they keep the matrix as (in, out)
  // What export writes where the model has no such parameter; nothing: it is left out.
  std::optional<double> absent = {};
};

struct TensorNames {
  std::string_view architecture;  // as in config.json: "LlamaForCausalLM"; "" where there is none
  std::vector<TensorRule> rules;
  std::string_view prefix;                // of all names but the head's; some files leave it out
  std::vector<std::string_view> ignored;  // globs of constants that older files have
};

inline constexpr const char* kLlmc = "llm.c";

// Of a model_type of config.json, or kLlmc; null for one that is not known.
const TensorNames* tensor_names(std::string_view model_type);

std::vector<std::string> known_model_types();  // of config.json

}  // namespace exprun
