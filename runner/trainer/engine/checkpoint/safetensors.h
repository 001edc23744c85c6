// The safetensors format (base/files/safetensors_header.h) with its tensors. No code is run by
// reading one; every bit is kept.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files/file.h"
#include "base/files/safetensors_header.h"

namespace exprun {

// A tensor by name: what checkpoints, import and export exchange.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// Of weights with exprun's own names: how many of the rows that are tokens are so; those after
// them pad the vocabulary.
inline constexpr const char* kVocabSize = "vocab_size";
SafetensorsMetadata vocabulary_metadata(std::optional<int64_t> vocab_size);

// Tensors on the CPU, contiguous; in the order given. Throws Error.
void write_safetensors(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors,
                       const SafetensorsMetadata& metadata = {});

class Safetensors {
 public:
  // Maps the file and checks its header whole: sizes, dtypes, offsets without gap or overlap. A
  // model of llm.c is read too, by llm.c's names.
  // Throws Error that names the file and what is wrong with it.
  explicit Safetensors(const std::filesystem::path& file);

  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return header_.entries.count(name) > 0; }
  const SafetensorsMetadata& metadata() const { return header_.metadata; }
  // dtype, shape and place; null if there is no such tensor.
  const SafetensorsEntry* find(const std::string& name) const;

  // A view of the mapping: never write to it, nor keep it longer than this object.
  // Throws Error that names the file if there is no such tensor, or no dtype of ours for it.
  at::Tensor tensor(const std::string& name) const;
  // A tensor of the file that has been read: it takes no memory until it is read again.
  void release(const std::string& name) const;

 private:
  std::filesystem::path file_;
  MappedFile mapped_;
  SafetensorsHeader header_;
};

}  // namespace exprun
