// Text in, tokens out, and back. Nothing is lost: decode(encode(text)) == text where encode
// accepts; a tokenizer that brings texts into NFC first gives back that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"

namespace exprun {

// A text has a character that the tokenizer has no token for. What helps depends on where the text
// is from: whoever knows that says it.
class UnknownCharacter : public Error {
 public:
  using Error::Error;
};

using Tokens = std::vector<uint32_t>;

// Takes tokens as they are made, many at a time.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void append(std::span<const uint32_t> tokens) = 0;
};

// As they are.
class TokenList final : public TokenSink {
 public:
  explicit TokenList(Tokens& tokens) : tokens_(tokens) {}
  void append(std::span<const uint32_t> tokens) override {
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }

 private:
  Tokens& tokens_;
};

// Where the texts of a model begin and end, as it has learned them from its data.
struct TextBounds {
  std::optional<uint32_t> begin;  // before every text
  std::vector<uint32_t> ends;     // each of them ends a text
  std::string end_marker;         // a text that does so too, where it is no token; or empty

  bool operator==(const TextBounds&) const = default;
};

// One thread's encoder: it may remember what it has met.
class Encoder {
 public:
  virtual ~Encoder() = default;

  // Appends the tokens of `text`. Throws UnknownCharacter for the first one that it meets, Error.
  virtual void encode(std::string_view text, TokenSink& tokens) = 0;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int64_t vocab_size() const = 0;
  // The tokenizer outlives its encoders.
  virtual std::unique_ptr<Encoder> make_encoder() const = 0;
  // The largest n for which encode(text) is encode of the first n bytes and then encode of the
  // rest, whatever follows; 0 if no place is known to be one.
  virtual size_t safe_cut(std::string_view text) const = 0;
  // Ids that stand for nothing decode to U+FFFD. Byte tokens come back as they are, a torn
  // character too: to_valid_utf8 (base/utf8.h) makes it fit to show.
  virtual std::string decode(std::span<const int64_t> tokens) const = 0;
  // {"type": "char", "table": [...]}: read back by load_tokenizer.
  virtual nlohmann::json to_json() const = 0;

  // Begins every text that a model is given: <|begin_of_text|> of Llama 3.
  virtual std::optional<uint32_t> begin_of_text() const { return std::nullopt; }
  // Stands between documents: <|endoftext|>, 50256 in GPT-2.
  virtual std::optional<uint32_t> end_of_text() const { return std::nullopt; }
  // (text, token) of those that no ordinary text becomes.
  virtual std::vector<std::pair<std::string, uint32_t>> special_tokens() const { return {}; }

  // The token of a special token's text; nothing where it has no such token.
  std::optional<uint32_t> special_token(std::string_view text) const;

  // What data have said of their texts; else begin_of_text() and end_of_text().
  TextBounds bounds() const;
  void set_bounds(TextBounds bounds) { bounds_ = std::move(bounds); }

  // A small text, by an encoder that is kept for the purpose (any thread, one at a time). What
  // looks like a special token is text.
  Tokens encode(std::string_view text) const;
  // "<|endoftext|>" is the token.
  Tokens encode_with_special(std::string_view text) const;
  // The same as a text of the data begins: after the begin of bounds(), unless the text itself
  // begins with it.
  Tokens encode_prompt(std::string_view text) const;

 private:
  std::optional<TextBounds> bounds_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Encoder> encoder_;
};

// 256 tokens, one a byte.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// From to_json's form. Throws Error.
std::unique_ptr<Tokenizer> load_tokenizer(const nlohmann::json& json);

// Of a vocabulary's file or folder: byte-level BPE, or the tokenizer.json of a table of characters
// (WordLevel), as `exprun export --huggingface` writes it. Throws Error.
std::unique_ptr<Tokenizer> load_vocabulary(const std::filesystem::path& path);
inline constexpr const char* kVocabularyForms =
    "a tokenizer.json, or a vocabulary file or its folder";

}  // namespace exprun
