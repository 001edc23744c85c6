#include "huggingface/model_config.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "huggingface/tensor_names.h"

namespace exprun {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// A config.json as it is read: every mistake is noted, so that all are told at once.
class Config {
 public:
  explicit Config(const json& values) : values_(values) {}

  bool has(const char* key) const {
    const auto found = values_.find(key);
    return found != values_.end() && !found->is_null();
  }
  json find(const char* key) const { return has(key) ? values_.at(key) : json(); }

  // At least 1.
  int64_t size(const char* key) { return size(key, std::nullopt); }
  int64_t size(const char* key, std::optional<int64_t> usual) {
    if (!has(key) && usual) return *usual;
    const json value = find(key);
    if (value.is_number_integer() && value.get<int64_t>() >= 1) return value.get<int64_t>();
    obstacles.push_back(has(key) ? said(key) + ", not a size" : std::string(key) + " is missing");
    return 1;
  }
  double number(const char* key, double usual) {
    if (!has(key)) return usual;
    if (values_.at(key).is_number()) return values_.at(key).get<double>();
    obstacles.push_back(said(key) + ", not a number");
    return usual;
  }
  bool flag(const char* key, bool usual) {
    if (!has(key)) return usual;
    if (values_.at(key).is_boolean()) return values_.at(key).get<bool>();
    obstacles.push_back(said(key) + ", not true or false");
    return usual;
  }
  std::string text(const char* key, const char* usual) {
    if (!has(key)) return usual;
    if (values_.at(key).is_string()) return values_.at(key).get<std::string>();
    obstacles.push_back(said(key) + ", not a text");
    return usual;
  }
  // What gpt does not do unless it has the value that is given.
  void require(const char* key, const json& only) {
    if (has(key) && values_.at(key) != only) obstacles.push_back(said(key));
  }
  std::string said(const char* key) const {
    return std::string(key) + " is " + json_text(find(key));
  }

  std::vector<std::string> obstacles;

 private:
  const json& values_;
};

ModelKeys gpt2_keys(Config& config) {
  config.require("add_cross_attention", false);
  config.require("scale_attn_weights", true);
  config.require("scale_attn_by_inverse_layer_idx", false);
  const std::string activation = config.text("activation_function", "gelu_new");
  const bool tanh = activation == "gelu_new" || activation == "gelu_pytorch_tanh";
  if (!tanh && activation != "gelu") config.obstacles.push_back(config.said("activation_function"));
  const int64_t width = config.size("n_embd", 768);
  const double dropout = config.number("resid_pdrop", 0.1);
  const bool same =
      dropout == config.number("embd_pdrop", 0.1) && dropout == config.number("attn_pdrop", 0.1);
  return {{"num_layers", config.size("n_layer", 12)},
          {"num_heads", config.size("n_head", 12)},
          {"hidden_size", width},
          {"feed_forward_size", config.size("n_inner", 4 * width)},
          {"context_length", config.size("n_positions", 1024)},
          {"vocab_size", config.size("vocab_size", 50257)},
          {"norm.eps", config.number("layer_norm_epsilon", 1e-5)},
          {"activation", tanh ? "gelu_tanh" : "gelu"},
          {"tie_embeddings", config.flag("tie_word_embeddings", true)},
          {"dropout", same ? dropout : 0.0},
          {"initialization.std", config.number("initializer_range", 0.02)}};
}

// transformers 5 writes rope_parameters, those before it rope_theta and rope_scaling.
void add_rope(ModelKeys& keys, Config& config) {
  keys.emplace_back("position.type", "rotary");
  keys.emplace_back("position.direction", "counter_clockwise");
  const json parameters =
      config.has("rope_parameters") ? config.find("rope_parameters") : config.find("rope_scaling");
  const json none = json::object();
  if (!parameters.is_null() && !parameters.is_object())
    return config.obstacles.push_back("rope_parameters is not a JSON object");
  Config rope(parameters.is_null() ? none : parameters);
  keys.emplace_back("position.rope_theta",
                    rope.number("rope_theta", config.number("rope_theta", 10000)));
  const std::string type = rope.text("rope_type", rope.text("type", "default").c_str());
  const double whole =
      rope.number("partial_rotary_factor", config.number("partial_rotary_factor", 1));
  if (whole != 1) rope.obstacles.push_back("partial_rotary_factor is not 1");
  if (type == "linear" || type == "llama3") {
    keys.emplace_back("position.rope_scaling.type", type);
    keys.emplace_back("position.rope_scaling.factor", rope.number("factor", 1));
  } else if (type != "default") {
    rope.obstacles.push_back("rope_type is \"" + type + "\"");
  }
  if (type == "llama3") {
    const std::string table = "position.rope_scaling.";
    keys.emplace_back(table + "low_freq_factor", rope.number("low_freq_factor", 1));
    keys.emplace_back(table + "high_freq_factor", rope.number("high_freq_factor", 4));
    keys.emplace_back(table + "original_context_length",
                      rope.size("original_max_position_embeddings"));
  }
  config.obstacles.insert(config.obstacles.end(), rope.obstacles.begin(), rope.obstacles.end());
}

// Whether attention slides in layers of which config.json has no list; with Qwen it does from one
// layer on.
bool slides_unlisted(Config& config, const std::string& type, int64_t num_layers) {
  if (type == "mistral") return true;
  if (!type.starts_with("qwen")) return false;
  const double first = config.number("max_window_layers", 28);
  if (first > 0 && first < static_cast<double>(num_layers))
    config.obstacles.push_back(config.said("max_window_layers") +
                               ": only the layers beyond that number use a sliding window");
  return first <= 0;
}

// Of all layers; some architectures can have it in some layers only.
int64_t sliding_window(Config& config, const std::string& type, int64_t num_layers) {
  const json kinds = config.find("layer_types");
  const bool is_list = kinds.is_array() && !kinds.empty();
  if (is_list && std::any_of(kinds.begin(), kinds.end(),
                             [&](const json& kind) { return kind != kinds.front(); })) {
    config.obstacles.push_back("layer_types has several kinds of layers");
    return 0;
  }
  if (type.starts_with("qwen") && !config.flag("use_sliding_window", false)) return 0;
  const bool slides =
      is_list ? kinds.front() == "sliding_attention" : slides_unlisted(config, type, num_layers);
  return slides && config.has("sliding_window") ? config.size("sliding_window") : 0;
}

json biases(Config& config, const std::string& type) {
  json parts = json::array();
  const bool attention = config.flag("attention_bias", false);
  if (attention || type == "qwen2") parts.push_back("query_key_value");
  if (attention && type != "qwen2") parts.push_back("output_projection");
  if (config.flag("mlp_bias", false)) parts.push_back("feed_forward");
  return parts.empty() ? json(false) : parts;
}

ModelKeys llama_like_keys(Config& config, const std::string& type) {
  config.require("hidden_act", "silu");
  const int64_t width = config.size("hidden_size"), heads = config.size("num_attention_heads");
  const int64_t num_layers = config.size("num_hidden_layers");
  if (!config.has("head_dim") && width % heads != 0)
    config.obstacles.push_back("num_attention_heads does not divide hidden_size");
  ModelKeys keys{{"num_layers", num_layers},
                 {"num_heads", heads},
                 {"num_key_value_heads", config.size("num_key_value_heads", heads)},
                 {"head_dim", config.size("head_dim", std::max<int64_t>(width / heads, 1))},
                 {"hidden_size", width},
                 {"feed_forward_size", config.size("intermediate_size")},
                 {"context_length", config.size("max_position_embeddings")},
                 {"vocab_size", config.size("vocab_size")},
                 {"norm.type", "rms_norm"},
                 {"norm.eps", config.number("rms_norm_eps", type == "olmo2" ? 1e-5 : 1e-6)}};
  if (type == "olmo2") keys.emplace_back("norm.placement", "post");
  add_rope(keys, config);
  if (type == "olmo2") keys.emplace_back("qk_norm", "projection");
  if (type == "qwen3") keys.emplace_back("qk_norm", "per_head");
  if (const int64_t window = sliding_window(config, type, num_layers); window > 0)
    keys.emplace_back("sliding_window", window);
  keys.emplace_back("query_key_value", "separate");
  keys.emplace_back("activation", "swiglu");
  keys.emplace_back("bias", biases(config, type));
  keys.emplace_back("tie_embeddings", config.flag("tie_word_embeddings", false));
  keys.emplace_back("initialization.std", config.number("initializer_range", 0.02));
  return keys;
}

// A [model] as it is looked at, part by part.
struct Model {
  const Section& keys;
  std::vector<std::string>& obstacles;

  int64_t integer(const char* key) const { return keys.get<int64_t>(key); }
  bool flag(const char* key) const { return keys.get<bool>(key); }
  std::string text(const char* key) const { return keys.get<std::string>(key); }

  void refuse_if(bool wrong, const std::string& what) const {
    if (wrong) obstacles.push_back(what);
  }
  bool has_bias(const std::string& part) const {
    if (keys.holds<bool>("bias")) return keys.get<bool>("bias");
    const auto parts = keys.get<std::vector<std::string>>("bias");
    return std::count(parts.begin(), parts.end(), part) > 0;
  }
  // The smallest number above 1 less 1 in fp32, where the recipe takes that of the input.
  double eps() const {
    const Section norm = keys.table("norm");
    return norm.holds<std::string>("eps") ? 0x1p-23 : norm.get<double>("eps");
  }
};

void refuse_what_neither_has(const Model& model) {
  const Section norm = model.keys.table("norm");
  model.refuse_if(norm.holds<std::string>("weight"), "norm.weight = \"one_plus\"");
  model.refuse_if(model.flag("embedding_norm"), "embedding_norm = true");
  model.refuse_if(!model.flag("output_projection"), "output_projection = false");
  model.refuse_if(model.keys.get<double>("logit_softcap") > 0, "logit_softcap");
}

ordered_json common_config(const Model& model, const std::string& type, std::string_view dtype) {
  return {{"architectures", {tensor_names(type)->architecture}},
          {"model_type", type},
          {"torch_dtype", dtype},
          {"vocab_size", model.integer("vocab_size")},
          {"tie_word_embeddings", model.flag("tie_embeddings")},
          {"initializer_range", model.keys.table("initialization").get<double>("std")},
          {"bos_token_id", nullptr},
          {"eos_token_id", nullptr},
          {"use_cache", true}};
}

ordered_json gpt2_config(const Model& model, std::string_view dtype) {
  const std::string activation = model.text("activation");
  const int64_t heads = model.integer("num_heads"), width = model.integer("hidden_size");
  const Section norm = model.keys.table("norm");
  model.refuse_if(norm.type() != "layer_norm", "norm.type = \"rms_norm\"");
  model.refuse_if(norm.get<std::string>("placement") == "post", "norm.placement = \"post\"");
  model.refuse_if(activation != "gelu" && activation != "gelu_tanh",
                  "activation = \"" + activation + "\"");
  model.refuse_if(model.integer("num_key_value_heads") != heads, "num_key_value_heads");
  model.refuse_if(model.integer("head_dim") * heads != width, "head_dim");
  model.refuse_if(!model.keys.holds<bool>("qk_norm") || model.flag("qk_norm"), "qk_norm");
  model.refuse_if(model.integer("sliding_window") > 0, "sliding_window");
  const double dropout = model.keys.get<double>("dropout");
  ordered_json config = common_config(model, "gpt2", dtype);
  config.update({{"n_layer", model.integer("num_layers")},
                 {"n_head", heads},
                 {"n_embd", width},
                 {"n_inner", model.integer("feed_forward_size")},
                 {"n_positions", model.integer("context_length")},
                 {"activation_function", activation == "gelu" ? "gelu" : "gelu_new"},
                 {"layer_norm_epsilon", model.eps()},
                 {"resid_pdrop", dropout},
                 {"embd_pdrop", dropout},
                 {"attn_pdrop", dropout}});
  return config;
}

// In both the older and the newer form.
void add_rope(ordered_json& config, const Section& position) {
  const double theta = position.get<double>("rope_theta");
  const Section scaling = position.table("rope_scaling");
  ordered_json parameters{{"rope_type", scaling.type() == "none" ? "default" : scaling.type()}};
  if (scaling.type() != "none") parameters["factor"] = scaling.get<double>("factor");
  if (scaling.type() == "llama3")
    parameters.update(
        {{"low_freq_factor", scaling.get<double>("low_freq_factor")},
         {"high_freq_factor", scaling.get<double>("high_freq_factor")},
         {"original_max_position_embeddings", scaling.get<int64_t>("original_context_length")}});
  config["rope_theta"] = theta;
  config["rope_scaling"] = scaling.type() == "none" ? ordered_json() : parameters;
  parameters["rope_theta"] = theta;
  config["rope_parameters"] = parameters;
}

std::string llama_like_type(const Model& model) {
  const bool normed = !model.keys.holds<bool>("qk_norm") || model.flag("qk_norm");
  const bool whole = !model.keys.holds<bool>("qk_norm") && model.text("qk_norm") == "projection";
  const bool post = model.keys.table("norm").get<std::string>("placement") == "post";
  const bool windowed = model.integer("sliding_window") > 0;
  model.refuse_if(post && !whole, "norm.placement = \"post\" without qk_norm = \"projection\"");
  model.refuse_if(whole && !post, "qk_norm = \"projection\" without norm.placement = \"post\"");
  model.refuse_if(windowed && normed, "sliding_window with qk_norm");
  const bool only_inner = model.has_bias("query_key_value") && !model.has_bias("output_projection");
  if (post) return "olmo2";
  if (normed) return "qwen3";
  if (windowed) return "mistral";
  return only_inner ? "qwen2" : "llama";
}

ordered_json llama_like_config(const Model& model, const std::string& type,
                               std::string_view dtype) {
  const Section norm = model.keys.table("norm"), position = model.keys.table("position");
  const bool attention_bias = model.has_bias("query_key_value");
  const bool mlp_bias = model.has_bias("feed_forward");
  model.refuse_if(norm.type() != "rms_norm", "norm.type = \"layer_norm\"");
  model.refuse_if(model.text("activation") != "swiglu",
                  "activation = \"" + model.text("activation") + "\"");
  model.refuse_if(position.get<std::string>("table_dtype") != "fp32",
                  "position.table_dtype = \"bf16\"");
  model.refuse_if(mlp_bias && type != "llama", "bias of the feed-forward layers");
  model.refuse_if(attention_bias && type == "mistral", "bias of queries, keys and values");
  model.refuse_if(type != "qwen2" && attention_bias != model.has_bias("output_projection"),
                  "bias of a part of attention");
  ordered_json config = common_config(model, type, dtype);
  config.update({{"num_hidden_layers", model.integer("num_layers")},
                 {"num_attention_heads", model.integer("num_heads")},
                 {"num_key_value_heads", model.integer("num_key_value_heads")},
                 {"head_dim", model.integer("head_dim")},
                 {"hidden_size", model.integer("hidden_size")},
                 {"intermediate_size", model.integer("feed_forward_size")},
                 {"max_position_embeddings", model.integer("context_length")},
                 {"hidden_act", "silu"},
                 {"rms_norm_eps", model.eps()},
                 {"attention_dropout", model.keys.get<double>("dropout")}});
  if (type == "llama" || type == "olmo2" || type == "qwen3")
    config["attention_bias"] = attention_bias;
  if (type == "llama") config["mlp_bias"] = mlp_bias;
  if (type == "mistral") config["sliding_window"] = model.integer("sliding_window");
  add_rope(config, position);
  return config;
}

}  // namespace

json read_config(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  try {
    return parse_strict_object(text);
  } catch (const Error& error) {
    throw Error("huggingface: '" + file.string() + "' is damaged: " + error.what());
  }
}

std::string model_type_of(const json& config) {
  const auto found = config.find("model_type");
  return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}

ModelKeys model_keys(const json& values, const std::filesystem::path& file) {
  const std::string type = model_type_of(values);
  if (const TensorNames* names = tensor_names(type); !names || names->architecture.empty())
    throw Error("huggingface: '" + file.string() + "' has the model_type \"" + type +
                "\"; exprun supports " + listed(known_model_types()));
  Config config(values);
  if (config.has("quantization_config")) config.obstacles.push_back("the weights are quantized");
  ModelKeys keys = type == "gpt2" ? gpt2_keys(config) : llama_like_keys(config, type);
  if (config.obstacles.empty()) return keys;
  std::string text =
      "huggingface: '" + file.string() + "' describes a model that exprun does not support:";
  for (const std::string& obstacle : config.obstacles) text += "\n  " + obstacle;
  throw Error(text);
}

ModelConfig model_config(const Section& section, std::string_view dtype) {
  ModelConfig result;
  if (section.type() != "gpt") {
    result.obstacles.push_back("type = \"" + section.type() + "\"");
    return result;
  }
  const Model model{section, result.obstacles};
  refuse_what_neither_has(model);
  const std::string position = section.table("position").type();
  model.refuse_if(position == "none", "position.type = \"none\"");
  result.model_type = position == "rotary" ? llama_like_type(model) : "gpt2";
  result.config = position == "rotary" ? llama_like_config(model, result.model_type, dtype)
                                       : gpt2_config(model, dtype);
  if (!result.obstacles.empty()) result.config = nullptr;
  return result;
}

}  // namespace exprun
