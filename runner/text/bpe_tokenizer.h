// Byte-level BPE: GPT-2 and every tokenizer.json of its kind.
#pragma once

#include <filesystem>
#include <memory>

#include "text/tokenizer.h"

namespace exprun {

// Of a vocabulary's file or folder, which to_json names. Throws Error.
std::unique_ptr<Tokenizer> load_bpe_tokenizer(const std::filesystem::path& path);

}  // namespace exprun
