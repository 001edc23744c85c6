// A tiktoken file: a token in base64 and its rank a line. Any two neighbours merge whose bytes
// together are a token, those of the lowest rank first.
#include <algorithm>
#include <charconv>
#include <optional>

#include "base/atomic_file.h"
#include "base/counted.h"
#include "text/gpt2_split.h"
#include "text/token_ids.h"
#include "text/vocabulary_readers.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr size_t kGpt2Ranks = 50256;
constexpr std::string_view kEndOfText = "<|endoftext|>";  // no rank has it

int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

// RFC 4648, with its padding.
std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = digit_of(c);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

void read_line(std::string_view line, size_t number, TokenIds& ids) {
  const size_t space = line.find(' ');
  const auto bytes = from_base64(line.substr(0, space));
  uint64_t rank = 0;
  const char* const end = line.data() + line.size();
  const bool good = bytes && space != std::string_view::npos &&
                    std::from_chars(line.data() + space + 1, end, rank).ptr == end;
  if (!good) throw ids.error("is no tiktoken file: line " + std::to_string(number));
  ids.add(*bytes, rank);
}

// Of every token each way to make it of two others.
void add_merges(BpeVocabulary& vocabulary, const TokenIds& ids) {
  for (uint32_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string_view bytes = vocabulary.tokens[id];
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = ids.find(bytes.substr(0, cut));
      const auto right = left ? ids.find(bytes.substr(cut)) : std::nullopt;
      if (right) vocabulary.merges.push_back({*left, *right, id, id});
    }
  }
}

}  // namespace

BpeVocabulary read_ranks(const fs::path& file) {
  BpeVocabulary vocabulary;
  vocabulary.patterns = {kGpt2Pattern};
  vocabulary.whole_words = true;
  TokenIds ids(vocabulary, file);
  const std::string text = read_file(file);
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    ++number;
    if (end > begin) read_line(std::string_view(text).substr(begin, end - begin), number, ids);
    begin = end + 1;
  }
  ids.index();
  if (vocabulary.tokens.size() != kGpt2Ranks)
    throw Error("tokenizer: '" + file.string() + "' has " +
                counted(static_cast<int64_t>(vocabulary.tokens.size()), "rank") +
                ", GPT-2 has 50,256; a tiktoken file does not say how its text is cut into "
                "words: give the tokenizer.json of this vocabulary");
  add_merges(vocabulary, ids);
  if (ids.find(kEndOfText))
    throw ids.error("has the token '" + std::string(kEndOfText) + "' twice");
  ids.add(kEndOfText, kGpt2Ranks);
  vocabulary.special.emplace_back(kEndOfText, kGpt2Ranks);
  return vocabulary;
}

}  // namespace exprun
