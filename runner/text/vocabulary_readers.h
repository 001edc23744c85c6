// One reader a kind of file; bpe_vocabulary.h chooses among them. They throw Error.
#pragma once

#include <filesystem>

#include "text/bpe_vocabulary.h"

namespace exprun {

BpeVocabulary read_merges_and_ids(const std::filesystem::path& merges,
                                  const std::filesystem::path& ids);
BpeVocabulary read_ranks(const std::filesystem::path& file);
BpeVocabulary read_tokenizer_json(const std::filesystem::path& file);

}  // namespace exprun
