#include "engine/weights/export.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/files/llmc_checkpoint.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "engine/buffers/optimizer_groups.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/pipeline.h"
#include "engine/weights/adapter.h"
#include "engine/weights/weight_files.h"
#include "text/prepared_data.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kMostBytes = 5'000'000'000;  // as transformers

at::ScalarType dtype_called(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  if (name == "float16") return at::kHalf;
  throw std::logic_error("export: no dtype is called '" + name + "'");
}

bool is_written(const PlannedTensor& planned) {
  return !planned.parts.empty() || planned.absent;
}

size_t bytes_of(const PlannedTensor& planned, at::ScalarType dtype) {
  size_t bytes = at::elementSize(dtype);
  for (const int64_t size : planned.shape) bytes *= static_cast<size_t>(size);
  return bytes;
}

using File = std::vector<const PlannedTensor*>;

std::vector<File> files_of(const TensorPlan& plan, at::ScalarType dtype, size_t most_bytes) {
  std::vector<File> files(1);
  size_t bytes = 0;
  for (const PlannedTensor& planned : plan.tensors) {
    if (!is_written(planned)) continue;
    const size_t more = bytes_of(planned, dtype);
    if (!files.back().empty() && bytes + more > most_bytes) {
      files.emplace_back();
      bytes = 0;
    }
    files.back().push_back(&planned);
    bytes += more;
  }
  return files;
}

std::string file_name(size_t number, size_t count) {
  if (count == 1) return "model.safetensors";
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", number + 1, count);
  return name;
}

// Beyond fp16's range there is no number to write.
at::Tensor rounded(const at::Tensor& tensor, at::ScalarType dtype, const std::string& name) {
  const at::Tensor result = tensor.to(dtype).contiguous();
  if (dtype == at::kHalf && !result.isfinite().all().item<bool>() &&
      tensor.isfinite().all().item<bool>())
    throw Error("export: '" + name +
                "' has values beyond the range of fp16; use --dtype bf16 or fp32");
  return result;
}

LlmcSizes sizes_of(const Section& model) {
  return {model.get<int64_t>("context_length"), model.get<int64_t>("vocab_size"),
          model.get<int64_t>("num_layers"), model.get<int64_t>("num_heads"),
          model.get<int64_t>("hidden_size")};
}

const PlannedTensor& planned_as(const TensorPlan& plan, const std::string& name) {
  return *std::find_if(plan.tensors.begin(), plan.tensors.end(),
                       [&](const PlannedTensor& planned) { return planned.name == name; });
}

at::Tensor with_rows(const at::Tensor& tensor, int64_t rows) {
  if (tensor.size(0) == rows) return tensor;
  std::vector<int64_t> shape = tensor.sizes().vec();
  shape[0] = rows - tensor.size(0);
  return at::cat({tensor, at::zeros(shape, tensor.options())});
}

// Writes a new file that llm.c reads, fp32 or bf16; the plan is of kLlmc's names.
void write_llmc_checkpoint(const TensorPlan& plan, const ByName& ours, at::ScalarType dtype,
                           const Section& model, const fs::path& file) {
  const LlmcSizes sizes = sizes_of(model);
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) throw file_error("write", file);
  const LlmcHeader header = llmc_header(sizes, dtype == at::kBFloat16);
  write_all(fd.get(), header.data(), sizeof header, file);
  for (const auto& [name, shape] : llmc_tensors(sizes)) {
    const at::Tensor whole = assembled(planned_as(plan, name), plan.order, ours);
    const at::Tensor tensor = rounded(with_rows(whole, shape[0]), dtype, name);
    write_all(fd.get(), tensor.const_data_ptr(), tensor.nbytes(), file);
  }
  sync_file(file);
}

}  // namespace

std::vector<std::string> write_weights(const TensorPlan& plan, const ByName& ours,
                                       at::ScalarType dtype, const fs::path& folder,
                                       size_t most_bytes) {
  const std::vector<File> files = files_of(plan, dtype, most_bytes);
  SafetensorsMetadata metadata = vocabulary_metadata(plan.vocab_size);
  metadata["format"] = "pt";
  json map = json::object();
  size_t bytes = 0;
  std::vector<std::string> written;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string name = file_name(i, files.size());
    std::vector<NamedTensor> tensors;
    for (const PlannedTensor* planned : files[i]) {
      const at::Tensor tensor = assembled(*planned, plan.order, ours);
      tensors.push_back({planned->name, rounded(tensor, dtype, planned->name)});
      map[planned->name] = name;
      bytes += tensors.back().tensor.nbytes();
    }
    write_safetensors(folder / name, tensors, metadata);
    written.push_back(name);
  }
  if (files.size() > 1) {
    written.push_back("model.safetensors.index.json");
    write_file(folder / written.back(),
               json_text(json{{"metadata", {{"total_size", bytes}}}, {"weight_map", map}}, 2));
  }
  return written;
}

json export_weights(const RunFolder& run, const fs::path& checkpoint, const std::string& request) {
  const json asked = parse_json_or_discard<json>(request);
  if (!asked.is_object() || !asked.contains("recipe"))
    throw Error("export: the request is not a JSON object with a recipe");
  const auto text = RecipeText::from_json(json_text(asked.at("recipe")));
  const ResolvedRecipe recipe = resolve(text, facts_of(PreparedData::load(run.data())));
  const CheckpointState state = read_checkpoint_state(checkpoint);
  const WeightFiles stored(checkpoint);
  const TrainState shapes = build_weights(recipe, at::kMeta);
  const auto& parameters = shapes.parameters->items();
  const json& type = asked.at("model_type");
  const auto own = without_adapters(parameters);
  const Section model = recipe.section("model");
  const TensorPlan plan = type.is_null()
                              ? own_plan(own, model.find<int64_t>("vocab_size"))
                              : foreign_plan(*tensor_names(type.get<std::string>()), own, model);
  if (!plan.unplanned.empty())
    throw std::logic_error("export: no name for " + listed(plan.unplanned));
  const ByName ours = [&](const std::string& name) {
    if (!stored.has(name) ||
        stored.entry(name).shape != shapes.parameters->find(name)->tensor.sizes())
      throw Error("export: '" + checkpoint.string() + "' has no '" + name +
                  "' of the shape that the recipe's model has");
    return stored.tensor(name);
  };
  const fs::path folder = asked.at("folder").get<std::string>();
  if (asked.value("adapter", false)) {
    const auto base = model.find<std::string>("init_from").value_or("");
    freeze(recipe.section("optimizer"), parameters);
    const auto files = write_adapter(plan, ours, *shapes.parameters, base, folder);
    return {{"step", state.position.step},
            {"tensors", parameters.size() - own.size()},
            {"files", files}};
  }
  if (type == kLlmc) {
    write_llmc_checkpoint(plan, merged(ours, *shapes.parameters),
                          dtype_called(asked.at("dtype").get<std::string>()), model,
                          folder / "model.bin");
    return {{"step", state.position.step}, {"tensors", own.size()}, {"files", {"model.bin"}}};
  }
  const auto files =
      write_weights(plan, merged(ours, *shapes.parameters),
                    dtype_called(asked.at("dtype").get<std::string>()), folder, kMostBytes);
  return {{"step", state.position.step},
          {"tensors", std::count_if(plan.tensors.begin(), plan.tensors.end(), is_written)},
          {"files", files}};
}

}  // namespace exprun
