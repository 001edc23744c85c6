// The model file of llm.c: 256 int32 (magic, version, sizes), then GPT-2's tensors in one order,
// each kind for all blocks. Version 3 is fp32, 5 is bf16. After llm.c's train_gpt2.py.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/files/safetensors_header.h"

namespace exprun {

struct LlmcSizes {
  int64_t context_length = 0, vocab_size = 0, num_layers = 0, num_heads = 0, hidden_size = 0;

  // The rows of "wte" in the file: the next multiple of 128, zeros after the vocabulary.
  int64_t padded_vocab_size() const { return (vocab_size + 127) / 128 * 128; }
};

// llm.c's names, with the number of the block: "wte", "ln1w.0", "qkvw.11", "lnfb".
struct LlmcTensor {
  std::string name;
  std::vector<int64_t> shape;  // in the file
};

// In the file's order.
std::vector<LlmcTensor> llmc_tensors(const LlmcSizes& sizes);

using LlmcHeader = std::array<int32_t, 256>;
LlmcHeader llmc_header(const LlmcSizes& sizes, bool bf16);

bool is_llmc_checkpoint(std::span<const std::byte> bytes);

// Of the beginning of a file. Throws Error.
LlmcSizes parse_llmc_sizes(std::span<const std::byte> bytes, const std::filesystem::path& file);

// Of a whole file's bytes; "wte" without the rows that pad it. Throws Error that names the file and
// what is wrong with it.
SafetensorsHeader parse_llmc_checkpoint(std::span<const std::byte> bytes,
                                        const std::filesystem::path& file);

}  // namespace exprun
