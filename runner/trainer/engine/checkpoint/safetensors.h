// The safetensors format: 8 bytes of header length (little endian), a JSON header
// {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, "__metadata__": {...}},
// then the bytes of the tensors. No code is run by reading one; every bit is kept.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file.h"

namespace exprun {

// A tensor by name: what checkpoints, import and export exchange.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// Tensors on the CPU, contiguous; in the order given. Throws Error.
void write_safetensors(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors);

class Safetensors {
 public:
  // Maps the file and checks its header whole: sizes, dtypes, offsets without gap or overlap.
  // Throws Error that names the file and what is wrong with it.
  explicit Safetensors(const std::filesystem::path& file);

  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return entries_.count(name) > 0; }

  // A view of the mapping: never write to it, nor keep it longer than this object.
  // Throws Error that names the file if there is no such tensor.
  at::Tensor tensor(const std::string& name) const;

 private:
  struct Entry {
    at::ScalarType dtype;
    std::vector<int64_t> shape;
    size_t begin = 0, end = 0;  // bytes from the start of the data
  };
  void parse(std::string_view header, size_t data_size);
  void check_coverage(size_t data_size) const;

  std::filesystem::path file_;
  MappedFile mapped_;
  std::map<std::string, Entry> entries_;
  size_t data_begin_ = 0;
};

}  // namespace exprun
