#include "text/char_tokenizer.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/diagnostic.h"
#include "base/utf8.h"

namespace exprun {
namespace {

constexpr size_t kMostCharacters = 65536;  // what a uint16 can number

std::string shown(char32_t character) {
  char code[16];
  std::snprintf(code, sizeof code, "U+%04X", static_cast<unsigned>(character));
  std::string text = "'";
  append_code_point(text, character);
  const bool control = character < 0x20 || character == 0x7f;
  return control ? code : text + "' (" + code + ")";
}

char32_t take_character(std::string_view& rest, size_t size) {
  const CodePoint character = first_code_point(rest);
  if (character.valid) {
    rest.remove_prefix(character.bytes.size());
    return character.value;
  }
  throw Error("char tokenizer: byte " + std::to_string(size - rest.size()) +
              " of the text is not UTF-8; convert the text, or use tokenizer = \"byte\"");
}

class CharTokenizer final : public Tokenizer {
 public:
  explicit CharTokenizer(std::u32string table) : table_(std::move(table)) {
    if (table_.size() > kMostCharacters)
      throw Error("char tokenizer: the text has " + std::to_string(table_.size()) +
                  " different characters, at most 65,536 fit; use tokenizer = \"byte\"");
    for (size_t i = 0; i < table_.size(); ++i)
      if (!tokens_.emplace(table_[i], static_cast<uint16_t>(i)).second)
        throw Error("char tokenizer: the table has " + shown(table_[i]) +
                    " twice; prepare the data again");
  }

  int64_t vocab_size() const override { return static_cast<int64_t>(table_.size()); }

  std::vector<uint16_t> encode(std::string_view text) const override {
    std::vector<uint16_t> tokens;
    tokens.reserve(text.size());
    for (std::string_view rest = text; !rest.empty();)
      tokens.push_back(token_of(take_character(rest, text.size())));
    return tokens;
  }

  std::string decode(std::span<const int64_t> tokens) const override {
    std::string text;
    for (const int64_t token : tokens) {
      const bool known = token >= 0 && token < vocab_size();
      append_code_point(text, known ? table_[static_cast<size_t>(token)] : kReplacementCharacter);
    }
    return text;
  }

  nlohmann::json to_json() const override {
    nlohmann::json table = nlohmann::json::array();
    for (const char32_t character : table_) {
      std::string text;
      append_code_point(text, character);
      table.push_back(text);
    }
    return {{"type", "char"}, {"table", table}};
  }

 private:
  uint16_t token_of(char32_t character) const {
    const auto found = tokens_.find(character);
    if (found != tokens_.end()) return found->second;
    throw Error("char tokenizer: " + shown(character) + " is not among the " +
                std::to_string(table_.size()) + " characters of the training text; leave it out");
  }

  std::u32string table_;
  std::unordered_map<char32_t, uint16_t> tokens_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_char_tokenizer(std::string_view text) {
  std::set<char32_t> characters;
  std::optional<char32_t> last;
  for (std::string_view rest = text; !rest.empty();) {
    const char32_t character = take_character(rest, text.size());
    if (character != last) characters.insert(character);
    last = character;
  }
  return make_char_tokenizer_of(std::u32string(characters.begin(), characters.end()));
}

std::unique_ptr<Tokenizer> make_char_tokenizer_of(std::u32string table) {
  return std::make_unique<CharTokenizer>(std::move(table));
}

}  // namespace exprun
