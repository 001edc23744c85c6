#include "support/foreign_names.h"

#include <ATen/core/grad_mode.h>

#include <set>
#include <stdexcept>

#include "base/diagnostic.h"
#include "engine/parameter.h"

namespace exprun {
namespace {

// modded-nanogpt's names are nanoGPT's, with query, key and value apart; Hugging Face transposes.
ForeignNames gpt2_names(std::string_view system, bool transposed) {
  return {system,
          {{"token_embedding.weight", "transformer.wte.weight"},
           {"position_embedding.weight", "transformer.wpe.weight"},
           {"blocks.*.attention_norm.weight", "transformer.h.*.ln_1.weight"},
           {"blocks.*.attention_norm.bias", "transformer.h.*.ln_1.bias"},
           {"blocks.*.attention.query_key_value.weight", "transformer.h.*.attn.c_attn.weight",
            transposed},
           {"blocks.*.attention.query_key_value.bias", "transformer.h.*.attn.c_attn.bias"},
           {"blocks.*.attention.query.weight", "transformer.h.*.attn.c_q.weight"},
           {"blocks.*.attention.key.weight", "transformer.h.*.attn.c_k.weight"},
           {"blocks.*.attention.value.weight", "transformer.h.*.attn.c_v.weight"},
           {"blocks.*.attention.output_projection.weight", "transformer.h.*.attn.c_proj.weight",
            transposed},
           {"blocks.*.attention.output_projection.bias", "transformer.h.*.attn.c_proj.bias"},
           {"blocks.*.feed_forward_norm.weight", "transformer.h.*.ln_2.weight"},
           {"blocks.*.feed_forward_norm.bias", "transformer.h.*.ln_2.bias"},
           {"blocks.*.feed_forward.up_projection.weight", "transformer.h.*.mlp.c_fc.weight",
            transposed},
           {"blocks.*.feed_forward.up_projection.bias", "transformer.h.*.mlp.c_fc.bias"},
           {"blocks.*.feed_forward.down_projection.weight", "transformer.h.*.mlp.c_proj.weight",
            transposed},
           {"blocks.*.feed_forward.down_projection.bias", "transformer.h.*.mlp.c_proj.bias"},
           {"final_norm.weight", "transformer.ln_f.weight"},
           {"final_norm.bias", "transformer.ln_f.bias"},
           {"head.weight", "lm_head.weight"}}};
}

ForeignNames ddp_basemodel_names() {
  return {"ddp_basemodel",
          {{"token_embedding.weight", "tok_emb.weight"},
           {"position_embedding.weight", "pos_emb.weight"},
           {"blocks.*.attention_norm.weight", "trf_blocks.*.norm1.weight"},
           {"blocks.*.attention.query.weight", "trf_blocks.*.attn.Wq.weight"},
           {"blocks.*.attention.key.weight", "trf_blocks.*.attn.Wk.weight"},
           {"blocks.*.attention.value.weight", "trf_blocks.*.attn.Wv.weight"},
           {"blocks.*.feed_forward_norm.weight", "trf_blocks.*.norm2.weight"},
           {"blocks.*.feed_forward.up_projection.weight", "trf_blocks.*.ff.layers.0.weight"},
           {"blocks.*.feed_forward.up_projection.bias", "trf_blocks.*.ff.layers.0.bias"},
           {"blocks.*.feed_forward.down_projection.weight", "trf_blocks.*.ff.layers.2.weight"},
           {"blocks.*.feed_forward.down_projection.bias", "trf_blocks.*.ff.layers.2.bias"},
           {"final_norm.weight", "final_norm.weight"},
           {"head.weight", "out_head.weight"}},
          {"trf_blocks.*.attn.Wo.*"}};
}

ForeignNames simple_mlp_names() {
  return {"simple_mlp",
          {{"token_embedding.weight", "token_embedding_table.weight"},
           {"up_projection.weight", "linear1.weight"},
           {"up_projection.bias", "linear1.bias"},
           {"down_projection.weight", "linear2.weight"},
           {"down_projection.bias", "linear2.bias"},
           {"head.weight", "linear_out.weight"},
           {"head.bias", "linear_out.bias"}}};
}

// What `*` stands for: "3" for "blocks.*.weight" and "blocks.3.weight"; empty without a star.
std::optional<std::string> match(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name ? std::optional("") : std::nullopt;
  const auto before = pattern.substr(0, star), behind = pattern.substr(star + 1);
  if (name.size() <= before.size() + behind.size() || !name.starts_with(before) ||
      !name.ends_with(behind))
    return std::nullopt;
  const auto number = name.substr(before.size(), name.size() - before.size() - behind.size());
  if (number.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return std::string(number);
}

std::string with_number(std::string_view pattern, const std::string& number) {
  std::string name(pattern);
  if (const size_t star = name.find('*'); star != std::string::npos) name.replace(star, 1, number);
  return name;
}

std::string title(const ForeignNames& names) {
  return "weights of " + std::string(names.system) + ": ";
}

ForeignName known_name(const ForeignNames& names, const std::string& ours) {
  if (auto name = foreign_name(names, ours)) return *name;
  throw Error(title(names) + "they have no name for '" + ours +
              "': the recipe's model is none of that system");
}

void copy_into(at::Tensor target, const at::Tensor& source, const std::string& what) {
  if (source.sizes() != target.sizes())
    throw Error(what + " has another shape than the recipe's model");
  target.copy_(source);
}

}  // namespace

ForeignNames names_of(std::string_view system) {
  if (system == "nanogpt" || system == "modded_nanogpt") return gpt2_names(system, false);
  if (system == "huggingface_gpt2") return gpt2_names(system, true);
  if (system == "ddp_basemodel") return ddp_basemodel_names();
  if (system == "simple_mlp") return simple_mlp_names();
  throw std::logic_error("parity: nothing is known of " + std::string(system) + "'s names");
}

std::optional<ForeignName> foreign_name(const ForeignNames& names, std::string_view ours) {
  for (const NameRule& rule : names.rules)
    if (const auto number = match(rule.ours, ours))
      return ForeignName{with_number(rule.theirs, *number), rule.transposed};
  return std::nullopt;
}

void load_foreign(const ForeignNames& names, const Safetensors& file,
                  const std::vector<Parameter>& parameters) {
  const at::NoGradGuard no_grad;
  std::set<std::string> left;
  for (const std::string& name : file.names()) left.insert(name);
  for (const Parameter& parameter : parameters) {
    const auto [name, transposed] = known_name(names, parameter.name);
    const auto source = file.tensor(name);
    copy_into(parameter.tensor, transposed ? source.t() : source, title(names) + "'" + name + "'");
    left.erase(name);
  }
  for (const std::string& name : left)
    if (!matches_any({names.ignored.begin(), names.ignored.end()}, name))
      throw Error(title(names) + "nothing in the recipe's model is '" + name + "'");
}

}  // namespace exprun
