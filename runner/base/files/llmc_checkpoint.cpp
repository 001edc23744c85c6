#include "base/files/llmc_checkpoint.h"

#include <cstring>
#include <functional>
#include <numeric>

#include "base/diagnostic.h"

namespace exprun {
namespace {

constexpr int32_t kMagic = 20240326;
constexpr int32_t kFp32 = 3, kBf16 = 5;

// Above these a file's size would not fit 64 bits; no model comes near.
constexpr int64_t kMostTokens = 1 << 24, kMostLayers = 1 << 12, kMostWidth = 1 << 17;

Error damaged(const std::filesystem::path& file, const std::string& what) {
  return Error("llm.c: '" + file.string() + "' is damaged or not a model of llm.c: " + what);
}

size_t elements(const std::vector<int64_t>& shape) {
  return static_cast<size_t>(
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

LlmcHeader header_of(std::span<const std::byte> bytes, const std::filesystem::path& file) {
  LlmcHeader header{};
  if (bytes.size() < sizeof header) throw damaged(file, "it ends within its header");
  std::memcpy(header.data(), bytes.data(), sizeof header);
  return header;
}

LlmcSizes sizes_of(const LlmcHeader& header, const std::filesystem::path& file) {
  const LlmcSizes sizes{header[2], header[3], header[4], header[5], header[6]};
  const auto check = [&](const char* what, int64_t value, int64_t most) {
    if (value < 1 || value > most)
      throw damaged(file, std::string("its ") + what + " is " + std::to_string(value));
  };
  check("context length", sizes.context_length, kMostTokens);
  check("vocabulary size", sizes.vocab_size, kMostTokens);
  check("number of layers", sizes.num_layers, kMostLayers);
  check("number of heads", sizes.num_heads, kMostWidth);
  check("hidden size", sizes.hidden_size, kMostWidth);
  if (header[7] != sizes.padded_vocab_size())
    throw damaged(file, "its vocabulary of " + std::to_string(sizes.vocab_size) + " is padded to " +
                            std::to_string(header[7]) + ", not to " +
                            std::to_string(sizes.padded_vocab_size()));
  return sizes;
}

}  // namespace

std::vector<LlmcTensor> llmc_tensors(const LlmcSizes& sizes) {
  const int64_t c = sizes.hidden_size;
  std::vector<LlmcTensor> tensors = {{"wte", {sizes.padded_vocab_size(), c}},
                                     {"wpe", {sizes.context_length, c}}};
  const LlmcTensor of_block[] = {{"ln1w", {c}},     {"ln1b", {c}},           {"qkvw", {3 * c, c}},
                                 {"qkvb", {3 * c}}, {"attprojw", {c, c}},    {"attprojb", {c}},
                                 {"ln2w", {c}},     {"ln2b", {c}},           {"fcw", {4 * c, c}},
                                 {"fcb", {4 * c}},  {"fcprojw", {c, 4 * c}}, {"fcprojb", {c}}};
  for (const LlmcTensor& each : of_block)
    for (int64_t block = 0; block < sizes.num_layers; ++block)
      tensors.push_back({each.name + '.' + std::to_string(block), each.shape});
  tensors.push_back({"lnfw", {c}});
  tensors.push_back({"lnfb", {c}});
  return tensors;
}

LlmcHeader llmc_header(const LlmcSizes& sizes, bool bf16) {
  LlmcHeader header{kMagic, bf16 ? kBf16 : kFp32};
  size_t place = 2;
  for (const int64_t size : {sizes.context_length, sizes.vocab_size, sizes.num_layers,
                             sizes.num_heads, sizes.hidden_size, sizes.padded_vocab_size()})
    header[place++] = static_cast<int32_t>(size);
  return header;
}

bool is_llmc_checkpoint(std::span<const std::byte> bytes) {
  int32_t first = 0;
  if (bytes.size() < sizeof first) return false;
  std::memcpy(&first, bytes.data(), sizeof first);
  return first == kMagic;
}

LlmcSizes parse_llmc_sizes(std::span<const std::byte> bytes, const std::filesystem::path& file) {
  return sizes_of(header_of(bytes, file), file);
}

SafetensorsHeader parse_llmc_checkpoint(std::span<const std::byte> bytes,
                                        const std::filesystem::path& file) {
  const LlmcHeader header = header_of(bytes, file);
  if (header[0] != kMagic) throw damaged(file, "it does not begin with llm.c's number");
  if (header[1] != kFp32 && header[1] != kBf16)
    throw Error("llm.c: '" + file.string() + "' has version " + std::to_string(header[1]) +
                " of the format; exprun reads versions 3 (fp32) and 5 (bf16)");
  const LlmcSizes sizes = sizes_of(header, file);
  const size_t element = header[1] == kFp32 ? 4 : 2;
  SafetensorsHeader tensors;
  tensors.data_begin = sizeof header;
  size_t at = 0;
  for (auto& [name, shape] : llmc_tensors(sizes)) {
    const size_t begin = at;
    at += elements(shape) * element;
    if (name == "wte") shape[0] = sizes.vocab_size;
    tensors.entries[name] = {element == 4 ? "F32" : "BF16", shape, begin,
                             begin + elements(shape) * element};
  }
  if (bytes.size() != sizeof header + at)
    throw damaged(file, "it has " + std::to_string(bytes.size()) +
                            " bytes, and its header asks "
                            "for " +
                            std::to_string(sizeof header + at));
  return tensors;
}

}  // namespace exprun
