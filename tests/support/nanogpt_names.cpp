#include "support/nanogpt_names.h"

#include <regex>
#include <utility>

namespace exprun {

std::string nanogpt_name(const std::string& name) {
  static const std::pair<std::regex, const char*> kTable[] = {
      {std::regex("^token_embedding\\."), "transformer.wte."},
      {std::regex("^position_embedding\\."), "transformer.wpe."},
      {std::regex("^blocks\\.(\\d+)\\."), "transformer.h.$1."},
      {std::regex("^final_norm\\."), "transformer.ln_f."},
      {std::regex("^head\\."), "lm_head."},
      {std::regex("\\.attention_norm\\."), ".ln_1."},
      {std::regex("\\.attention\\.query_key_value\\."), ".attn.c_attn."},
      {std::regex("\\.attention\\.output_projection\\."), ".attn.c_proj."},
      {std::regex("\\.feed_forward_norm\\."), ".ln_2."},
      {std::regex("\\.feed_forward\\.up_projection\\."), ".mlp.c_fc."},
      {std::regex("\\.feed_forward\\.down_projection\\."), ".mlp.c_proj."}};
  std::string result = name;
  for (const auto& [pattern, with] : kTable) result = std::regex_replace(result, pattern, with);
  return result;
}

}  // namespace exprun
