// vocab.bpe and encoder.json: the merges a line, by rank, and the ids.
#include <future>
#include <utility>

#include "base/atomic_file.h"
#include "text/byte_alphabet.h"
#include "text/gpt2_split.h"
#include "text/id_object.h"
#include "text/merge_sides.h"
#include "text/token_ids.h"
#include "text/vocabulary_readers.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// On average, at least.
constexpr size_t kBytesOfId = 16, kBytesOfMerge = 8;

// What is not of the alphabet of bytes is a special token: <|endoftext|> is of it, but no merge
// makes it.
void read_ids(BpeVocabulary& vocabulary, TokenIds& ids, const fs::path& file) {
  std::string bytes;
  const auto add = [&](std::string_view name, uint64_t id) {
    bytes.resize(name.size());
    char* end = bytes.data();
    const bool special = (name.starts_with("<|") && name.ends_with("|>")) ||
                         decode_alphabet(name, end) < name.size();
    ids.add(special ? name : std::string_view(bytes.data(), end), id);
    if (special) vocabulary.special.emplace_back(name, static_cast<uint32_t>(id));
  };
  std::string json = read_file(file);
  vocabulary.tokens.reserve(json.size() / kBytesOfId);
  if (!read_id_object(std::move(json), add))
    throw Error("tokenizer: '" + file.string() +
                "' is no JSON object of tokens and ids; fetch it again");
  ids.index();
}

struct Lines {
  MergeSides merges;
  size_t wrong = 0;  // the number of the first that is no merge: those before it are read
};

// The lines are decoded where they lie: neither a space nor a line feed is of the alphabet.
Lines read_lines(const fs::path& file) {
  Lines lines;
  auto& [text, sizes] = lines.merges;
  text = read_file(file);
  if (!text.ends_with('\n')) text += '\n';
  sizes.reserve(text.size() / kBytesOfMerge);
  std::string_view rest = text;
  char* bytes = text.data();
  // Its size; 0 where `end` does not follow.
  const auto read_side = [&](char end) {
    const char* const begin = bytes;
    rest.remove_prefix(decode_alphabet(rest, bytes));
    if (!rest.starts_with(end)) return uint32_t{0};
    rest.remove_prefix(1);
    return static_cast<uint32_t>(bytes - begin);
  };
  for (size_t number = 1; !rest.empty(); ++number) {
    if (number == 1 && rest.starts_with("#version")) rest.remove_prefix(rest.find('\n'));
    if (rest.starts_with('\n')) {
      rest.remove_prefix(1);
      continue;
    }
    const uint32_t left = read_side(' '), right = left > 0 ? read_side('\n') : 0;
    if (right == 0) {
      lines.wrong = number;
      break;
    }
    sizes.push_back({left, right});
  }
  text.resize(static_cast<size_t>(bytes - text.data()));
  return lines;
}

}  // namespace

BpeVocabulary read_merges_and_ids(const fs::path& merges, const fs::path& ids) {
  // In a thread of its own if one can be had; what is wrong with the ids is told before.
  auto reading = std::async(std::launch::async | std::launch::deferred, read_lines, merges);
  BpeVocabulary vocabulary;
  vocabulary.patterns = {kGpt2Pattern};
  TokenIds tokens(vocabulary, ids);
  read_ids(vocabulary, tokens, ids);
  const Lines lines = reading.get();
  tokens.add_merges(lines.merges, merges);
  if (lines.wrong > 0)
    throw Error("tokenizer: line " + std::to_string(lines.wrong) + " of '" + merges.string() +
                "' is no merge of two tokens; fetch it again");
  return vocabulary;
}

}  // namespace exprun
