// A byte-level BPE vocabulary, whichever files it came from:
//   vocab.bpe and encoder.json (OpenAI), merges.txt and vocab.json (HuggingFace): GPT-2's pattern;
//   *.tiktoken, a base64 token and its rank a line: GPT-2's 50,256 ranks (r50k_base);
//   tokenizer.json (HuggingFace) of the kind ByteLevel: any pattern. Tokens are those of
//   HuggingFace's tokenizers with encode_special_tokens set: special tokens in a text are text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/bpe/added_tokens.h"
#include "text/bpe/merge_table.h"

namespace exprun {

inline constexpr uint64_t kMostTokens = 1 << MergeTable::kIdBits;  // ids of any vocabulary
inline constexpr uint64_t kMostMerges = MergeTable::kNone - 1;     // ranks from 0 on

// What a vocabulary says beside its tokens and merges.
struct BpeRules {
  std::array<uint32_t, 256> byte_tokens;  // where every word begins
  std::vector<std::pair<std::string, uint32_t>> special;
  std::vector<AddedToken> added;          // with the special ones, where the file says how they go
  std::vector<uint32_t> beside_model;     // ids that no word becomes
  std::optional<uint32_t> begin_of_text;  // where the file has every text begin with one
  std::optional<uint32_t> end_of_text;    // <|endoftext|>, <|end_of_text|>
  // Words, as PCRE2 takes them: each splits what those before it leave; none: a text is one word.
  std::vector<std::string> patterns;
  bool whole_words = false;  // a word that is a token is that token, unmerged
  bool composes = false;     // a text is brought into NFC first
};

struct BpeVocabulary : BpeRules {
  std::vector<std::string> tokens;  // the bytes of each id; empty for an id without use
  std::vector<BpeMerge> merges;     // by rank
};

// The files that `path` (a file or a folder) stands for. Throws Error that says what may be there.
std::vector<std::filesystem::path> vocabulary_files(const std::filesystem::path& path);

// Whether `path` still stands for what was copied to, or named as, `kept`; not where it is gone.
bool is_same_vocabulary(const std::filesystem::path& kept, const std::filesystem::path& path);

// Where the files that `path` stands for lie. Throws as vocabulary_files().
std::filesystem::path folder_of_vocabulary(const std::filesystem::path& path);

// Of vocabulary_files(). Throws Error for files that are missing, damaged or of another kind of
// tokenizer.
BpeVocabulary read_bpe_vocabulary(const std::vector<std::filesystem::path>& files);

// Whether vocabulary_files() have every text begin with a token, known without their tokens: those
// of Llama 3 take a quarter of a second to read. False for files that are damaged.
bool begin_texts(const std::vector<std::filesystem::path>& files);

// The bytes of each id of a vocabulary, one after another.
class TokenTable {
 public:
  explicit TokenTable(const std::vector<std::string>& tokens) {
    ends_.reserve(tokens.size());
    for (const std::string& token : tokens) ends_.push_back((bytes_ += token).size());
  }

  size_t size() const { return ends_.size(); }
  // Empty for an id without use.
  std::string_view operator[](size_t id) const {
    const uint64_t begin = id > 0 ? ends_[id - 1] : 0;
    return std::string_view(bytes_).substr(begin, ends_[id] - begin);
  }

 private:
  std::vector<uint64_t> ends_;
  std::string bytes_;
};

// A BPE vocabulary in the form that encoding and decoding read: flat tables.
struct BpeTables : BpeRules {
  TokenTable tokens;
  MergeTable merges;
};

// Of a file or folder: those of read_bpe_vocabulary, with its errors.
BpeTables load_bpe_tables(const std::filesystem::path& path);

// The merges of a vocabulary while it is read: the bytes of both sides, before their ids are known.
struct MergeSides {
  struct Sizes {
    uint32_t left, right;
  };

  std::string bytes;         // of all sides, one after another
  std::vector<Sizes> sizes;  // by rank
};

// The printable characters that stand for bytes in the files of byte-level BPE (GPT-2's
// bytes_to_unicode): 33 to 126, 161 to 172 and 174 to 255 for themselves, the 68 others for 256,
// 257 and so on in order.

// Writes and passes the bytes that a text begins with. Returns where the first character is that
// stands for no byte, such as a space. Bytes are no more than their text: they may go in its place.
size_t decode_alphabet(std::string_view text, char*& bytes);

// The bytes that a token stands for; nothing if a character of it stands for no byte.
std::optional<std::string> bytes_of_alphabet(std::string_view token);

}  // namespace exprun
