// nanoGPT's names of a GPT's parameters, for recorded weights.
#pragma once

#include <string>

namespace exprun {

// "blocks.0.attention_norm.weight" -> "transformer.h.0.ln_1.weight"
std::string nanogpt_name(const std::string& name);

}  // namespace exprun
