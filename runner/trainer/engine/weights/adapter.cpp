#include "engine/weights/adapter.h"

#include <ATen/ops/mm.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "engine/checkpoint/safetensors.h"

namespace exprun {
namespace {

using nlohmann::json;

constexpr std::string_view kWeight = ".weight";
constexpr const char* kTensorsFile = "adapter_model.safetensors";
constexpr const char* kConfigFileOfPeft = "adapter_config.json";

// The layer whose weight it is, if that has an adapter.
std::optional<std::string> adapted_layer(const std::string& name, const ParameterList& parameters) {
  if (!name.ends_with(kWeight)) return std::nullopt;
  const std::string layer = name.substr(0, name.size() - kWeight.size());
  return parameters.find(layer + std::string(kLoraA)) ? std::optional(layer) : std::nullopt;
}

at::Tensor in_fp32(const ByName& stored, const std::string& layer, std::string_view part) {
  return stored(layer + std::string(part)).to(at::kFloat);
}

// The one adapter of all rows of a tensor, which may have been cut from a larger matrix; nothing
// where none of them has one.
std::optional<std::string> layer_of(const PlannedTensor& planned, const ParameterList& parameters) {
  std::optional<std::string> layer;
  for (const TensorPart& part : planned.parts) {
    const auto found = adapted_layer(part.parameter, parameters);
    if (&part != &planned.parts.front() && found != layer)
      throw Error("export: '" + planned.name +
                  "' is one matrix there, and here several with an adapter each; write "
                  "query_key_value = \"fused\" before training, or export the merged model");
    layer = found;
  }
  return layer;
}

NamedTensor named(const std::string& module, const char* part, const at::Tensor& tensor) {
  return {"base_model.model." + module + part, tensor.contiguous()};
}

at::Tensor rows_of(const PlannedTensor& planned, const HeadOrder& order, const at::Tensor& b) {
  PlannedTensor narrow = planned;
  narrow.transposed = false;
  return assembled(narrow, order, [&](const std::string&) { return b; });
}

}  // namespace

std::vector<Parameter> without_adapters(const std::vector<Parameter>& parameters) {
  std::vector<Parameter> rest;
  for (const Parameter& parameter : parameters)
    if (!is_adapter(parameter.name)) rest.push_back(parameter);
  return rest;
}

ByName merged(ByName stored, const ParameterList& parameters) {
  return [stored = std::move(stored), &parameters](const std::string& name) {
    const auto layer = adapted_layer(name, parameters);
    if (!layer) return stored(name);
    const auto product = at::mm(in_fp32(stored, *layer, kLoraB), in_fp32(stored, *layer, kLoraA));
    return stored(name).to(at::kFloat).add(product, parameters.lora()->scale());
  };
}

std::vector<std::string> write_adapter(const TensorPlan& plan, const ByName& stored,
                                       const ParameterList& parameters,
                                       const std::string& base_model,
                                       const std::filesystem::path& folder) {
  const LoraSettings& lora = parameters.lora().value();
  for (const Parameter& parameter : parameters.items())
    if (!parameter.is_frozen() && !is_adapter(parameter.name))
      throw Error("export: '" + parameter.name +
                  "' was trained too (model.lora.trained), which an adapter alone does not hold; "
                  "leave --adapter out to export the merged model");
  std::vector<NamedTensor> tensors;
  json modules = json::array();
  bool transposed = false;
  for (const PlannedTensor& planned : plan.tensors) {
    const auto layer = layer_of(planned, parameters);
    if (!layer) continue;
    const std::string module = planned.name.substr(0, planned.name.size() - kWeight.size());
    modules.push_back(module);
    transposed = transposed || planned.transposed;
    tensors.push_back(named(module, ".lora_A.weight", in_fp32(stored, *layer, kLoraA)));
    tensors.push_back(named(module, ".lora_B.weight",
                            rows_of(planned, plan.order, in_fp32(stored, *layer, kLoraB))));
  }
  write_safetensors(folder / kTensorsFile, tensors, {{"format", "pt"}});
  const json config{{"peft_type", "LORA"},
                    {"task_type", "CAUSAL_LM"},
                    {"base_model_name_or_path", base_model.empty() ? json() : json(base_model)},
                    {"r", lora.rank},
                    {"lora_alpha", lora.alpha},
                    {"lora_dropout", lora.dropout},
                    {"target_modules", modules},
                    {"fan_in_fan_out", transposed},
                    {"bias", "none"},
                    {"inference_mode", true}};
  write_file(folder / kConfigFileOfPeft, json_text(config, 2) + "\n");
  return {kTensorsFile, kConfigFileOfPeft};
}

}  // namespace exprun
