// What a folder of HuggingFace's says of its tokenizer and of generation, beside the vocabulary:
// JSON and text, to be copied. Nothing of it is run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace exprun {

struct TokenizerSettings {
  // tokenizer_config.json without the code that it may name, and without the tokenizer_class then,
  // which may be of that code; null where there is none.
  nlohmann::json tokenizer_config;
  // generation_config.json; null where there is none.
  nlohmann::json generation_config;
  // bos_token_id, eos_token_id and pad_token_id, as far as config.json has them, of a folder that
  // is HuggingFace's by another file too; an id, a list of ids or null.
  std::map<std::string, nlohmann::json> ids;
  // Others by name, as they are: special_tokens_map.json, added_tokens.json, chat_template.jinja of
  // at most 1 MB.
  std::map<std::string, std::string> files;

  // The tokens at any of which a text ends: the eos_token_id of generation_config.json and of
  // config.json.
  std::vector<uint64_t> end_ids() const;
  // The eos_token of tokenizer_config.json; empty where it names none.
  std::string end_token() const;
};

// Nothing where the folder has none of these files. Throws Error that names a damaged one.
std::optional<TokenizerSettings> tokenizer_settings(const std::filesystem::path& folder);

}  // namespace exprun
