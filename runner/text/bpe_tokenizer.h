// Byte-level BPE: GPT-2 and every tokenizer.json of its kind.
#pragma once

#include <filesystem>
#include <memory>

#include "text/bpe_vocabulary.h"
#include "text/tokenizer.h"

namespace exprun {

// `path` is what to_json names: where the vocabulary was read from.
std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeVocabulary vocabulary,
                                              const std::filesystem::path& path);

// Throws Error.
std::unique_ptr<Tokenizer> load_bpe_tokenizer(const std::filesystem::path& path);

}  // namespace exprun
