// vocab.bpe and encoder.json: the merges a line, by rank, and the ids.
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "text/byte_alphabet.h"
#include "text/gpt2_split.h"
#include "text/token_ids.h"
#include "text/vocabulary_readers.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// {"token": id, ...} without a tree of it. What is not of the alphabet of bytes is a special token:
// <|endoftext|> is of it, but no merge makes it.
class IdReader final : public nlohmann::json_sax<json> {
 public:
  IdReader(BpeVocabulary& vocabulary, TokenIds& ids) : vocabulary_(vocabulary), ids_(ids) {}

  bool start_object(size_t) override { return ++depth_ == 1; }
  bool end_object() override { return true; }
  bool key(string_t& name) override {
    name_ = std::move(name);
    return true;
  }
  bool number_unsigned(number_unsigned_t id) override {
    if (depth_ == 0) return false;
    const bool special = name_.starts_with("<|") && name_.ends_with("|>");
    const auto bytes = special ? std::nullopt : bytes_of_alphabet(name_);
    ids_.add(bytes.value_or(name_), id);
    if (!bytes) vocabulary_.special.emplace_back(name_, static_cast<uint32_t>(id));
    return true;
  }

  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t) override { return false; }
  bool number_float(number_float_t, const string_t&) override { return false; }
  bool string(string_t&) override { return false; }
  bool binary(binary_t&) override { return false; }
  bool start_array(size_t) override { return false; }
  bool end_array() override { return false; }
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

 private:
  BpeVocabulary& vocabulary_;
  TokenIds& ids_;
  std::string name_;
  int depth_ = 0;
};

void read_ids(BpeVocabulary& vocabulary, TokenIds& ids, const fs::path& file) {
  IdReader reader(vocabulary, ids);
  if (!json::sax_parse(read_file(file), &reader))
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
  vocabulary.pattern = kGpt2Pattern;
  TokenIds tokens(vocabulary, merges);
  read_ids(vocabulary, tokens, ids);
  read_merges(tokens, merges);
  return vocabulary;
}

}  // namespace exprun
