// A byte-level BPE vocabulary, whichever files it came from:
//   vocab.bpe and encoder.json (OpenAI), merges.txt and vocab.json (HuggingFace): GPT-2's pattern;
//   *.tiktoken, a base64 token and its rank a line: GPT-2's 50,256 ranks (r50k_base);
//   tokenizer.json (HuggingFace) of the kind ByteLevel: any pattern.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/merge_table.h"

namespace exprun {

struct BpeVocabulary {
  std::vector<std::string> tokens;        // the bytes of each id; empty for an id without use
  std::vector<BpeMerge> merges;           // by rank
  std::array<uint32_t, 256> byte_tokens;  // where every word begins
  std::vector<std::pair<std::string, uint32_t>> special;
  std::optional<uint32_t> end_of_text;  // <|endoftext|>, <|end_of_text|>
  std::string pattern;                  // words, as PCRE2 takes it
  bool whole_words = false;             // a word that is a token is that token, unmerged
};

// The files that `path` (a file or a folder) stands for. Throws Error that says what may be there.
std::vector<std::filesystem::path> vocabulary_files(const std::filesystem::path& path);

// Throws Error for files that are missing, damaged or of another kind of tokenizer.
BpeVocabulary load_bpe_vocabulary(const std::filesystem::path& path);

}  // namespace exprun
