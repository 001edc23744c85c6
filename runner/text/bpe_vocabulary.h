// A byte-level BPE vocabulary, whichever files it came from:
//   vocab.bpe and encoder.json (OpenAI), merges.txt and vocab.json (HuggingFace): GPT-2's pattern;
//   *.tiktoken, a base64 token and its rank a line: GPT-2's 50,256 ranks (r50k_base);
//   tokenizer.json (HuggingFace) of the kind ByteLevel: any pattern. Tokens are those of
//   HuggingFace's tokenizers with encode_special_tokens set: special tokens in a text are text.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/added_tokens.h"
#include "text/merge_table.h"

namespace exprun {

inline constexpr uint64_t kMostTokens = 1 << MergeTable::kIdBits;  // ids of any vocabulary
inline constexpr uint64_t kMostMerges = MergeTable::kNone - 1;     // ranks from 0 on

// What a vocabulary says beside its tokens and merges.
struct BpeRules {
  std::array<uint32_t, 256> byte_tokens;  // where every word begins
  std::vector<std::pair<std::string, uint32_t>> special;
  std::vector<AddedToken> added;        // with the special ones, where the file says how they go
  std::vector<uint32_t> beside_model;   // ids that no word becomes
  std::optional<uint32_t> end_of_text;  // <|endoftext|>, <|end_of_text|>
  // Words, as PCRE2 takes them: each splits what those before it leave; none: a text is one word.
  std::vector<std::string> patterns;
  bool whole_words = false;  // a word that is a token is that token, unmerged
};

struct BpeVocabulary : BpeRules {
  std::vector<std::string> tokens;  // the bytes of each id; empty for an id without use
  std::vector<BpeMerge> merges;     // by rank
};

// The files that `path` (a file or a folder) stands for. Throws Error that says what may be there.
std::vector<std::filesystem::path> vocabulary_files(const std::filesystem::path& path);

// Of vocabulary_files(). Throws Error for files that are missing, damaged or of another kind of
// tokenizer.
BpeVocabulary read_bpe_vocabulary(const std::vector<std::filesystem::path>& files);

}  // namespace exprun
