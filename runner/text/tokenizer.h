// Text in, tokens out, and back. Nothing is lost: decode(encode(text)) == text where encode
// accepts.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int64_t vocab_size() const = 0;
  // Throws Error that names the first character that the tokenizer cannot encode.
  virtual std::vector<uint16_t> encode(std::string_view text) const = 0;
  // Ids that stand for nothing decode to U+FFFD. Byte tokens come back as they are, a torn
  // character too: to_valid_utf8 (base/utf8.h) makes it fit to show.
  virtual std::string decode(std::span<const int64_t> tokens) const = 0;
  // {"type": "char", "table": [...]}: read back by load_tokenizer.
  virtual nlohmann::json to_json() const = 0;
};

// 256 tokens, one a byte.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// One token a character (code point), numbered in the order of the code points that `text` has
// (nanoGPT's shakespeare_char: 65 symbols). Throws Error on invalid UTF-8.
std::unique_ptr<Tokenizer> make_char_tokenizer(std::string_view text);

// From to_json's form. Throws Error.
std::unique_ptr<Tokenizer> load_tokenizer(const nlohmann::json& json);

}  // namespace exprun
