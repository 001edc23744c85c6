#include "engine/weights/weight_files.h"

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/files/run_folder.h"
#include "base/format_units.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";

Error nothing_to_read(const fs::path& folder) {
  const std::string begin = "weights: '" + folder.string() + "' has no " + kModelFile;
  for (const char* pickled : {"pytorch_model.bin", "pytorch_model.bin.index.json"})
    if (path_exists(folder / pickled))
      return Error(
          begin + ", only " + pickled +
          ", which can run code when it is loaded; save it as safetensors with transformers: "
          "AutoModelForCausalLM.from_pretrained(...).save_pretrained(...)");
  if (path_exists(folder / "adapter_model.safetensors"))
    return Error(
        begin +
        ", only an adapter; merge it into its model first, with merge_and_unload() of peft");
  return Error(begin + " and no " + kIndex);
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& source) {
  if (!path_exists(source)) throw Error("weights: '" + source.string() + "' does not exist");
  if (!folder_exists(source))
    open(source);
  else if (path_exists(source / kModelFile))
    open(source / kModelFile);
  else if (path_exists(source / kIndex))
    open_indexed(source / kIndex);
  else
    throw nothing_to_read(source);
  if (path_exists(source / kAverageFile)) open_averages(source / kAverageFile);
}

void WeightFiles::open_averages(const fs::path& file) {
  const Safetensors& averages = opened_.try_emplace(kAverageFile, file).first->second;
  for (const std::string& name : averages.names())
    if (const auto found = files_.find(name); found != files_.end()) found->second = &averages;
  are_averages_ = true;
}

void WeightFiles::open(const fs::path& file) {
  const auto [opened, is_new] = opened_.try_emplace(file.filename().string(), file);
  for (const std::string& name : opened->second.names())
    if (!files_.emplace(name, &opened->second).second)
      throw Error("weights: '" + file.string() + "' has the tensor '" + name +
                  "', which another file of the index also has");
}

void WeightFiles::open_indexed(const fs::path& index) {
  const auto map = parse_safetensors_index(read_file(index), index);
  for (const auto& [name, file] : map)
    if (opened_.count(file) == 0) open(index.parent_path() / file);
  for (const auto& [name, file] : map)
    if (!opened_.at(file).has(name))
      throw Error("weights: '" + index.string() + "' says that '" + name + "' is in '" + file +
                  "', where it is not");
  for (const auto& [name, file] : files_)
    if (map.count(name) == 0)
      throw Error("weights: '" + index.string() + "' does not list '" + name +
                  "', which one of its files has");
}

std::optional<int64_t> WeightFiles::vocab_size() const {
  for (const auto& [name, file] : opened_)
    if (const auto said = file.metadata().find(kVocabSize); said != file.metadata().end())
      return parse_number<int64_t>(said->second);
  return std::nullopt;
}

std::vector<std::string> WeightFiles::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_) names.push_back(name);
  return names;
}

const SafetensorsEntry& WeightFiles::entry(const std::string& name) const {
  return *files_.at(name)->find(name);
}

at::Tensor WeightFiles::tensor(const std::string& name) const {
  return files_.at(name)->tensor(name);
}

}  // namespace exprun
