// The header of a safetensors file, and the index of a set of them: 8 bytes of header length
// (little endian), a JSON header {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin,
// end]},
// "__metadata__": {...}}, then the bytes of the tensors. The one parser of both: strict, so that a
// file means the same to every reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

struct SafetensorsEntry {
  std::string dtype;  // "F32": one of those that have whole bytes
  std::vector<int64_t> shape;
  size_t begin = 0, end = 0;  // bytes from the start of the data
};

// Names and texts beside the tensors: {"format": "pt"}.
using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> entries;
  SafetensorsMetadata metadata;
  size_t data_begin = 0;  // in the file
};

// Of a file's bytes: sizes, dtypes, names told once, offsets without gap or overlap. Throws Error
// that names the file and what is wrong with it.
SafetensorsHeader parse_safetensors(std::span<const std::byte> bytes,
                                    const std::filesystem::path& file);

// Bytes of an element; 0 for a dtype that is not known.
size_t safetensors_element_size(std::string_view dtype);

// model.safetensors.index.json: the file that each tensor is in, beside the index itself. Throws
// Error: what is no index, a name told twice, and a file that would be looked for elsewhere.
std::map<std::string, std::string> parse_safetensors_index(std::string_view text,
                                                           const std::filesystem::path& file);

}  // namespace exprun
