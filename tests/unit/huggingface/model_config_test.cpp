#include "huggingface/model_config.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "support/temporary_folder.h"

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

// {"max_window_layers": N} and the like, of a Qwen 2 with three layers.
std::string qwen(const std::string& rest) {
  return R"({"model_type": "qwen2", "hidden_size": 32, "num_hidden_layers": 3,
             "num_attention_heads": 4, "intermediate_size": 56, "max_position_embeddings": 48,
             "vocab_size": 61, "sliding_window": 7, )" +
         rest + "}";
}

// Qwen2Config of transformers: a layer slides if its number, from 0, is at least max_window_layers.
TEST_CASE("config.json: Qwen's sliding window is of all layers, of none, or refused") {
  const auto slides = [](const std::string& rest) {
    return keys_of(qwen(rest).c_str()).find("sliding_window = 7\n") != std::string::npos;
  };
  CHECK(slides(R"("use_sliding_window": true, "max_window_layers": 0)"));
  CHECK_FALSE(slides(R"("use_sliding_window": true, "max_window_layers": 3)"));
  CHECK_FALSE(slides(R"("use_sliding_window": true)"));  // 28, where nothing is said
  CHECK_FALSE(slides(R"("use_sliding_window": false, "max_window_layers": 0)"));
  CHECK_FALSE(slides(R"("max_window_layers": 0)"));
  const std::string each = R"("sliding_attention", "sliding_attention", "sliding_attention")";
  CHECK(slides(R"("use_sliding_window": true, "layer_types": [)" + each + "]"));
  CHECK_FALSE(slides(R"("use_sliding_window": false, "layer_types": [)" + each + "]"));
  CHECK(refusal(qwen(R"("use_sliding_window": true, "max_window_layers": 1)").c_str()) ==
        "huggingface: 'config.json' describes a model that exprun does not support:\n"
        "  max_window_layers is 1: only the layers beyond that number use a sliding window");
}

TEST_CASE("config.json: a name that is there twice is refused, and what is no object") {
  const TemporaryFolder folder;
  const auto problem = [&](const std::string& text) -> std::string {
    const auto file = folder.write("config.json", text);
    try {
      return json_text(read_config(file));
    } catch (const Error& error) {
      const std::string begin = "huggingface: '" + file.string() + "' is damaged: ";
      REQUIRE(std::string(error.what()).starts_with(begin));
      return std::string(error.what()).substr(begin.size());
    }
  };
  CHECK(problem(R"({"n_layer": 3, "n_head": 2, "n_layer": 4})") ==
        "it contains the key 'n_layer' twice");
  CHECK(problem(R"({"a": {"n_layer": 3}, "n_layer": 4})") == R"({"a":{"n_layer":3},"n_layer":4})");
  CHECK(problem("[1]") == "it is not a JSON object");
  CHECK(problem("{").starts_with("it is not JSON ("));
}

}  // namespace
}  // namespace exprun
