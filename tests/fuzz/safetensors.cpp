// The header of a safetensors file, the index of several and a model of llm.c on any bytes; the
// first byte chooses. They refuse with an error, or every tensor lies within the file, apart from
// all others.
#include <cstdint>
#include <cstdlib>

#include "base/diagnostic.h"
#include "base/files/llmc_checkpoint.h"
#include "base/files/safetensors_header.h"

using namespace exprun;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// llm.c pads its vocabulary: there the tensors do not fill the file.
void read_llmc_of(std::span<const std::byte> bytes) try {
  for (const auto& [name, entry] : parse_llmc_checkpoint(bytes, "fuzz").entries)
    require(entry.begin <= entry.end && sizeof(LlmcHeader) + entry.end <= bytes.size());
} catch (const Error&) {
}

void read_file_of(std::span<const std::byte> bytes) try {
  const SafetensorsHeader header = parse_safetensors(bytes, "fuzz");
  size_t total = 0;
  for (const auto& [name, entry] : header.entries) {
    size_t size = safetensors_element_size(entry.dtype);
    for (const int64_t one : entry.shape) size *= static_cast<size_t>(one);
    require(size == entry.end - entry.begin);
    require(header.data_begin + entry.end <= bytes.size());
    total += size;
  }
  require(header.data_begin + total == bytes.size());
} catch (const Error&) {
}

void read_index_of(std::string_view text) try {
  for (const auto& [name, file] : parse_safetensors_index(text, "fuzz"))
    require(file.find('/') == file.npos && file.ends_with(".safetensors"));
} catch (const Error&) {
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  if (data[0] % 2 == 1)
    read_index_of({reinterpret_cast<const char*>(data) + 1, size - 1});
  else if (data[0] % 4 == 0)
    read_llmc_of(bytes);
  else
    read_file_of(bytes);
  return 0;
}
