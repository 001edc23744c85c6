// vocab.bpe and encoder.json: the merges a line, by rank, and the ids.
#include <utility>

#include "base/atomic_file.h"
#include "text/byte_alphabet.h"
#include "text/gpt2_split.h"
#include "text/id_object.h"
#include "text/token_ids.h"
#include "text/vocabulary_readers.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// What is not of the alphabet of bytes is a special token: <|endoftext|> is of it, but no merge
// makes it.
void read_ids(BpeVocabulary& vocabulary, TokenIds& ids, const fs::path& file) {
  const auto add = [&](std::string_view name, uint64_t id) {
    const bool special = name.starts_with("<|") && name.ends_with("|>");
    auto bytes = special ? std::nullopt : bytes_of_alphabet(name);
    ids.add(bytes ? std::move(*bytes) : std::string(name), id);
    if (!bytes) vocabulary.special.emplace_back(name, static_cast<uint32_t>(id));
  };
  if (!read_id_object(read_file(file), add))
    throw Error("tokenizer: '" + file.string() +
                "' is no JSON object of tokens and ids; fetch it again");
}

void read_merges(TokenIds& ids, const fs::path& file) {
  const std::string text = read_file(file);
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    const auto line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty() || (number == 1 && line.starts_with("#"))) continue;
    const size_t space = line.find(' ');
    const auto left = bytes_of_alphabet(line.substr(0, space));
    const auto right =
        space == std::string_view::npos ? std::nullopt : bytes_of_alphabet(line.substr(space + 1));
    if (!left || !right || left->empty() || right->empty())
      throw Error("tokenizer: line " + std::to_string(number) + " of '" + file.string() +
                  "' is no merge of two tokens; fetch it again");
    ids.add_merge(*left, *right);
  }
}

}  // namespace

BpeVocabulary read_merges_and_ids(const fs::path& merges, const fs::path& ids) {
  BpeVocabulary vocabulary;
  vocabulary.patterns = {kGpt2Pattern};
  TokenIds tokens(vocabulary, merges);
  read_ids(vocabulary, tokens, ids);
  read_merges(tokens, merges);
  return vocabulary;
}

}  // namespace exprun
