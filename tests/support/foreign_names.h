// The names that another system gives to the parameters of one of our models: one table for its
// initial weights and for what it recorded of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/safetensors.h"
#include "engine/parameter.h"

namespace exprun {

// In both names `*` is the same number of a block.
struct NameRule {
  std::string_view ours;    // "blocks.*.attention.output_projection.weight"
  std::string_view theirs;  // "transformer.h.*.attn.c_proj.weight"
  bool transposed = false;  // they keep the matrix as (in, out)
};

struct ForeignNames {
  std::string_view system;  // "nanogpt"
  std::vector<NameRule> rules;
  std::vector<std::string_view> ignored = {};  // globs of what they store and never use
};

struct ForeignName {
  std::string name;
  bool transposed = false;
};

// The table of a system whose runs are recorded among the fixtures. Throws std::logic_error for any
// other.
ForeignNames names_of(std::string_view system);

// Nothing where the system has no such parameter.
std::optional<ForeignName> foreign_name(const ForeignNames& names, std::string_view ours);

// Fills every parameter from their file. Throws Error that names what is missing, left over or of
// another shape.
void load_foreign(const ForeignNames& names, const Safetensors& file,
                  const std::vector<Parameter>& parameters);

}  // namespace exprun
