#include "huggingface/tensor_names.h"

#include <map>

namespace exprun {
namespace {

// A Conv1D of GPT-2 keeps its matrix as (in, out).
TensorNames gpt2() {
  return {
      "GPT2LMHeadModel",
      {{"token_embedding.weight", "transformer.wte.weight"},
       {"position_embedding.weight", "transformer.wpe.weight"},
       {"blocks.*.attention_norm.weight", "transformer.h.*.ln_1.weight", false, 1},
       {"blocks.*.attention_norm.bias", "transformer.h.*.ln_1.bias", false, 0},
       {"blocks.*.attention.query_key_value.weight", "transformer.h.*.attn.c_attn.weight", true},
       {"blocks.*.attention.query_key_value.bias", "transformer.h.*.attn.c_attn.bias", false, 0},
       {"blocks.*.attention.output_projection.weight", "transformer.h.*.attn.c_proj.weight", true},
       {"blocks.*.attention.output_projection.bias", "transformer.h.*.attn.c_proj.bias", false, 0},
       {"blocks.*.feed_forward_norm.weight", "transformer.h.*.ln_2.weight", false, 1},
       {"blocks.*.feed_forward_norm.bias", "transformer.h.*.ln_2.bias", false, 0},
       {"blocks.*.feed_forward.up_projection.weight", "transformer.h.*.mlp.c_fc.weight", true},
       {"blocks.*.feed_forward.up_projection.bias", "transformer.h.*.mlp.c_fc.bias", false, 0},
       {"blocks.*.feed_forward.down_projection.weight", "transformer.h.*.mlp.c_proj.weight", true},
       {"blocks.*.feed_forward.down_projection.bias", "transformer.h.*.mlp.c_proj.bias", false, 0},
       {"final_norm.weight", "transformer.ln_f.weight", false, 1},
       {"final_norm.bias", "transformer.ln_f.bias", false, 0},
       {"head.weight", "lm_head.weight"}},
      "transformer.",
      {"*h.*.attn.bias", "*h.*.attn.masked_bias"}};
}

// No transposed matrices; the head is always the embedding.
TensorNames llmc() {
  return {"",
          {{"token_embedding.weight", "wte"},
           {"position_embedding.weight", "wpe"},
           {"blocks.*.attention_norm.weight", "ln1w.*", false, 1},
           {"blocks.*.attention_norm.bias", "ln1b.*", false, 0},
           {"blocks.*.attention.query_key_value.weight", "qkvw.*"},
           {"blocks.*.attention.query_key_value.bias", "qkvb.*", false, 0},
           {"blocks.*.attention.output_projection.weight", "attprojw.*"},
           {"blocks.*.attention.output_projection.bias", "attprojb.*", false, 0},
           {"blocks.*.feed_forward_norm.weight", "ln2w.*", false, 1},
           {"blocks.*.feed_forward_norm.bias", "ln2b.*", false, 0},
           {"blocks.*.feed_forward.up_projection.weight", "fcw.*"},
           {"blocks.*.feed_forward.up_projection.bias", "fcb.*", false, 0},
           {"blocks.*.feed_forward.down_projection.weight", "fcprojw.*"},
           {"blocks.*.feed_forward.down_projection.bias", "fcprojb.*", false, 0},
           {"final_norm.weight", "lnfw", false, 1},
           {"final_norm.bias", "lnfb", false, 0}},
          "",
          {}};
}

// What the Llama-like ones share; `norms` are those of a block.
TensorNames llama_like(std::string_view architecture, const std::vector<TensorRule>& norms) {
  TensorNames names{
      architecture,
      {{"token_embedding.weight", "model.embed_tokens.weight"},
       {"blocks.*.attention.query.weight", "model.layers.*.self_attn.q_proj.weight"},
       {"blocks.*.attention.key.weight", "model.layers.*.self_attn.k_proj.weight"},
       {"blocks.*.attention.value.weight", "model.layers.*.self_attn.v_proj.weight"},
       {"blocks.*.attention.query.bias", "model.layers.*.self_attn.q_proj.bias"},
       {"blocks.*.attention.key.bias", "model.layers.*.self_attn.k_proj.bias"},
       {"blocks.*.attention.value.bias", "model.layers.*.self_attn.v_proj.bias"},
       {"blocks.*.attention.output_projection.weight", "model.layers.*.self_attn.o_proj.weight"},
       {"blocks.*.attention.output_projection.bias", "model.layers.*.self_attn.o_proj.bias"},
       {"blocks.*.feed_forward.gate_projection.weight", "model.layers.*.mlp.gate_proj.weight"},
       {"blocks.*.feed_forward.gate_projection.bias", "model.layers.*.mlp.gate_proj.bias"},
       {"blocks.*.feed_forward.up_projection.weight", "model.layers.*.mlp.up_proj.weight"},
       {"blocks.*.feed_forward.up_projection.bias", "model.layers.*.mlp.up_proj.bias"},
       {"blocks.*.feed_forward.down_projection.weight", "model.layers.*.mlp.down_proj.weight"},
       {"blocks.*.feed_forward.down_projection.bias", "model.layers.*.mlp.down_proj.bias"},
       {"final_norm.weight", "model.norm.weight", false, 1},
       {"head.weight", "lm_head.weight"}},
      "model.",
      {"*rotary_emb.inv_freq"}};
  names.rules.insert(names.rules.end() - 2, norms.begin(), norms.end());
  return names;
}

const std::vector<TensorRule> kBefore = {
    {"blocks.*.attention_norm.weight", "model.layers.*.input_layernorm.weight", false, 1},
    {"blocks.*.feed_forward_norm.weight", "model.layers.*.post_attention_layernorm.weight", false,
     1}};

const std::vector<TensorRule> kOfQueriesAndKeys = {
    {"blocks.*.attention.query_norm.weight", "model.layers.*.self_attn.q_norm.weight", false, 1},
    {"blocks.*.attention.key_norm.weight", "model.layers.*.self_attn.k_norm.weight", false, 1}};

const std::vector<TensorRule> kBehind = {
    {"blocks.*.attention_norm.weight", "model.layers.*.post_attention_layernorm.weight", false, 1},
    {"blocks.*.feed_forward_norm.weight", "model.layers.*.post_feedforward_layernorm.weight", false,
     1}};

std::vector<TensorRule> with_norms_of_queries_and_keys(std::vector<TensorRule> norms) {
  norms.insert(norms.end(), kOfQueriesAndKeys.begin(), kOfQueriesAndKeys.end());
  return norms;
}

const std::map<std::string_view, TensorNames>& tables() {
  static const std::map<std::string_view, TensorNames> tables{
      {"gpt2", gpt2()},
      {"llama", llama_like("LlamaForCausalLM", kBefore)},
      {kLlmc, llmc()},
      {"mistral", llama_like("MistralForCausalLM", kBefore)},
      {"olmo2", llama_like("Olmo2ForCausalLM", with_norms_of_queries_and_keys(kBehind))},
      {"qwen2", llama_like("Qwen2ForCausalLM", kBefore)},
      {"qwen3", llama_like("Qwen3ForCausalLM", with_norms_of_queries_and_keys(kBefore))}};
  return tables;
}

}  // namespace

const TensorNames* tensor_names(std::string_view model_type) {
  const auto found = tables().find(model_type);
  return found == tables().end() ? nullptr : &found->second;
}

std::vector<std::string> known_model_types() {
  std::vector<std::string> types;
  for (const auto& [type, names] : tables())
    if (!names.architecture.empty()) types.emplace_back(type);
  return types;
}

}  // namespace exprun
