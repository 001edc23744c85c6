// One reader a kind of file; bpe_vocabulary.h chooses among them. They throw Error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "text/bpe/bpe_vocabulary.h"

namespace exprun {

BpeVocabulary read_merges_and_ids(const std::filesystem::path& merges,
                                  const std::filesystem::path& ids);
BpeVocabulary read_ranks(const std::filesystem::path& file);
BpeVocabulary read_tokenizer_json(const std::filesystem::path& file);

// As begin_texts().
bool tokenizer_json_begins_texts(const std::filesystem::path& file);

// {"token": id, ...}: the JSON object that vocabularies keep their ids in.

// Calls `use` for each name and id, in order. False where it is no JSON, or not of that kind alone.
// A vocabulary is read with every command that needs one: this is several times as fast as a JSON
// library, which looks at each character for itself.
bool read_id_object(std::string json,
                    const std::function<void(std::string_view name, uint64_t id)>& use);

}  // namespace exprun
