// Weights that lie in one safetensors file, or in several with an index: mapped, so that reading
// takes no memory of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/safetensors.h"

namespace exprun {

class WeightFiles {
 public:
  // A safetensors file, a model of llm.c, or a folder with model.safetensors or
  // model.safetensors.index.json; of a checkpoint the averages, where it has them: the weights that
  // leave a run. Throws Error that says what is there instead, or wrong with it.
  explicit WeightFiles(const std::filesystem::path& source);

  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return files_.count(name) > 0; }
  const SafetensorsEntry& entry(const std::string& name) const;
  // A view of the mapping. Throws Error for a dtype that exprun does not read.
  at::Tensor tensor(const std::string& name) const;
  void release(const std::string& name) const { files_.at(name)->release(name); }
  // What a file says of its vocabulary (safetensors.h): how many of its rows are tokens.
  std::optional<int64_t> vocab_size() const;
  bool are_averages() const { return are_averages_; }

 private:
  void open(const std::filesystem::path& file);
  void open_indexed(const std::filesystem::path& index);
  void open_averages(const std::filesystem::path& file);

  std::map<std::string, Safetensors> opened_;        // by file name
  std::map<std::string, const Safetensors*> files_;  // by tensor
  bool are_averages_ = false;
};

}  // namespace exprun
