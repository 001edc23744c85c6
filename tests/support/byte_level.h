// Small vocabularies of byte-level BPE, as their files write them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace exprun {

// How bytes are written in the files of byte-level BPE.
inline std::string byte_alphabet(std::string_view bytes) {
  const auto is_itself = [](int byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  };
  std::string text;
  for (const unsigned char byte : bytes) {
    int rank = 0;
    for (int b = 0; b < byte; ++b) rank += !is_itself(b);
    append_code_point(text, static_cast<char32_t>(is_itself(byte) ? byte : 256 + rank));
  }
  return text;
}

// A tokenizer.json: 256 bytes, then one token a merge.
inline nlohmann::json small_tokenizer(
    const nlohmann::json& pre_tokenizer,
    const std::vector<std::pair<std::string, std::string>>& merges = {}) {
  nlohmann::json vocabulary = nlohmann::json::object(), lines = nlohmann::json::array();
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[byte_alphabet(std::string(1, static_cast<char>(byte)))] = byte;
  for (const auto& [left, right] : merges) {
    vocabulary[byte_alphabet(left + right)] = vocabulary.size();
    lines.push_back(byte_alphabet(left) + " " + byte_alphabet(right));
  }
  return {{"normalizer", nullptr},
          {"pre_tokenizer", pre_tokenizer},
          {"added_tokens", nlohmann::json::array()},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", lines}}}};
}

inline nlohmann::json byte_level(bool use_regex = true) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", use_regex}};
}

inline nlohmann::json split_at(const std::string& pattern, const std::string& behavior = "Isolated",
                               bool invert = false) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", pattern}}},
          {"behavior", behavior},
          {"invert", invert}};
}

inline nlohmann::json in_sequence(const std::vector<nlohmann::json>& steps) {
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

}  // namespace exprun
