#include "huggingface/model_config.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "base/json_text.h"

namespace exprun {
namespace {

using nlohmann::json;

std::string keys_of(const char* config) {
  std::string text;
  for (const auto& [key, value] : model_keys(parse_json<json>(config), "config.json"))
    text += key + " = " + json_text(value) + "\n";
  return text;
}

std::string refusal(const char* config) try { return keys_of(config); } catch (const Error& error) {
  return error.what();
}

TEST_CASE("config.json: GPT-2's, with what transformers takes where it does not say") {
  CHECK(keys_of(R"({"model_type": "gpt2", "n_layer": 3})") ==
        "num_layers = 3\nnum_heads = 12\nhidden_size = 768\nfeed_forward_size = 3072\n"
        "context_length = 1024\nvocab_size = 50257\nnorm.eps = 1e-05\n"
        "activation = \"gelu_tanh\"\ntie_embeddings = true\ndropout = 0.1\n"
        "initialization.std = 0.02\n");
}

TEST_CASE("config.json: Llama 3.1's, in the older and in the newer form of its positions") {
  const std::string begin =
      R"({"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 56,
      "max_position_embeddings": 48, "vocab_size": 61, )";
  const std::string expected =
      "num_layers = 2\nnum_heads = 4\nnum_key_value_heads = 2\nhead_dim = 8\nhidden_size = 32\n"
      "feed_forward_size = 56\ncontext_length = 48\nvocab_size = 61\nnorm.type = \"rms_norm\"\n"
      "norm.eps = 1e-06\nposition.type = \"rotary\"\n"
      "position.direction = \"counter_clockwise\"\nposition.rope_theta = 500000.0\n"
      "position.rope_scaling.type = \"llama3\"\nposition.rope_scaling.factor = 8.0\n"
      "position.rope_scaling.low_freq_factor = 1.0\n"
      "position.rope_scaling.high_freq_factor = 4.0\n"
      "position.rope_scaling.original_context_length = 16\nquery_key_value = \"separate\"\n"
      "activation = \"swiglu\"\nbias = false\ntie_embeddings = false\n"
      "initialization.std = 0.02\n";
  const std::string scaling =
      R"("rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
      "original_max_position_embeddings": 16)";
  CHECK(keys_of((begin + R"("rope_theta": 5e5, "rope_scaling": {)" + scaling + "}}").c_str()) ==
        expected);
  CHECK(keys_of((begin + R"("rope_parameters": {"rope_theta": 5e5, )" + scaling + "}}").c_str()) ==
        expected);
}

TEST_CASE("config.json: all that gpt is not is said at once") {
  CHECK(refusal(R"({"model_type": "mixtral"})") ==
        "huggingface: 'config.json' has the model_type \"mixtral\"; exprun supports gpt2, llama, "
        "mistral, olmo2, qwen2 and qwen3");
  CHECK(refusal(R"({"model_type": "qwen3", "hidden_size": 32, "num_hidden_layers": "2",
                    "num_attention_heads": 4, "intermediate_size": 56, "vocab_size": 61,
                    "hidden_act": "relu", "rope_scaling": {"type": "yarn", "factor": 4.0},
                    "layer_types": ["full_attention", "sliding_attention"]})") ==
        "huggingface: 'config.json' describes a model that exprun does not support:\n"
        "  hidden_act is \"relu\"\n"
        "  num_hidden_layers is \"2\", not a size\n"
        "  max_position_embeddings is missing\n"
        "  rope_type is \"yarn\"\n"
        "  layer_types has several kinds of layers");
}

}  // namespace
}  // namespace exprun
