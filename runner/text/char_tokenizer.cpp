#include "text/char_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/utf8.h"

namespace exprun {
namespace {

constexpr size_t kMostCharacters = 65536;  // more are words rather than characters
constexpr uint32_t kNoToken = UINT32_MAX;

std::string shown(char32_t character) {
  const std::string name = code_point_name(character), seen = shown_character(character);
  return seen == name ? name : seen + " (" + name + ")";
}

char32_t take_character(std::string_view& rest, size_t size) {
  const auto byte = static_cast<unsigned char>(rest.front());
  if (byte < 0x80) {
    rest.remove_prefix(1);
    return byte;
  }
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
      throw Error("char tokenizer: the text has " +
                  with_thousands(static_cast<int64_t>(table_.size())) +
                  " different characters, but at most 65,536 fit; use tokenizer = \"byte\"");
    if (!table_.empty())
      tokens_.resize(*std::max_element(table_.begin(), table_.end()) + 1, kNoToken);
    for (size_t i = 0; i < table_.size(); ++i) number(table_[i], static_cast<uint32_t>(i));
  }

  int64_t vocab_size() const override { return static_cast<int64_t>(table_.size()); }
  std::unique_ptr<Encoder> make_encoder() const override;

  // After the last character that is whole, or is broken for certain.
  size_t safe_cut(std::string_view text) const override { return whole_characters(text); }

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

  uint32_t token_of(char32_t character) const {
    if (character < tokens_.size() && tokens_[character] != kNoToken) return tokens_[character];
    throw UnknownCharacter(unknown_character(character, table_.size()));
  }

 private:
  void number(char32_t character, uint32_t token) {
    if (tokens_[character] != kNoToken)
      throw Error("char tokenizer: the table has " + shown(character) +
                  " twice; prepare the data again");
    tokens_[character] = token;
  }

  std::u32string table_;
  std::vector<uint32_t> tokens_;  // by code point
};

class CharEncoder final : public Encoder {
 public:
  explicit CharEncoder(const CharTokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void encode(std::string_view text, TokenSink& tokens) override {
    uint32_t block[1024];
    for (std::string_view rest = text; !rest.empty();) {
      size_t count = 0;
      while (count < std::size(block) && !rest.empty())
        block[count++] = tokenizer_.token_of(take_character(rest, text.size()));
      tokens.append({block, count});
    }
  }

 private:
  const CharTokenizer& tokenizer_;
};

std::unique_ptr<Encoder> CharTokenizer::make_encoder() const {
  return std::make_unique<CharEncoder>(*this);
}

}  // namespace

std::string unknown_character(char32_t character, size_t known) {
  return shown(character) + " is not one of the " + std::to_string(known) +
         " characters that the tokenizer knows";
}

CharacterSet::CharacterSet() : met_(kCodePoints) {}

void CharacterSet::add(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) met_[take_character(rest, text.size())] = true;
}

void CharacterSet::add(const CharacterSet& other) {
  for (size_t i = 0; i < met_.size(); ++i)
    if (other.met_[i]) met_[i] = true;
}

std::u32string CharacterSet::sorted() const {
  std::u32string table;
  for (size_t i = 0; i < met_.size(); ++i)
    if (met_[i]) table += static_cast<char32_t>(i);
  return table;
}

std::unique_ptr<Tokenizer> make_char_tokenizer(std::u32string table) {
  return std::make_unique<CharTokenizer>(std::move(table));
}

}  // namespace exprun
