// Low-rank adapters in weights that go out: added to the weights they stand beside, or by
// themselves as HuggingFace's peft keeps them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/parameter.h"
#include "engine/weights/tensor_plan.h"

namespace exprun {

// Parameters without those of adapters.
std::vector<Parameter> without_adapters(const std::vector<Parameter>& parameters);

// Weights by name as `stored` gives them, with W + scale B A, in fp32, for a layer that has an
// adapter. `parameters` outlives the result.
ByName merged(ByName stored, const ParameterList& parameters);

// Writes adapter_model.safetensors and adapter_config.json, which peft loads beside the model that
// `plan` names the tensors of, into a folder that is there. Returns the names of the files.
// `base_model`: where that model is, or empty. Throws Error for a layer that is one matrix there
// and several here, and where more than adapters has been trained.
std::vector<std::string> write_adapter(const TensorPlan& plan, const ByName& stored,
                                       const ParameterList& parameters,
                                       const std::string& base_model,
                                       const std::filesystem::path& folder);

}  // namespace exprun
