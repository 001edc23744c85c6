#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "text/tokenizer.h"

namespace exprun {
namespace {

constexpr int64_t kBytes = 256;

class ByteTokenizer final : public Tokenizer {
 public:
  int64_t vocab_size() const override { return kBytes; }

  std::vector<uint16_t> encode(std::string_view text) const override {
    std::vector<uint16_t> tokens(text.size());
    for (size_t i = 0; i < text.size(); ++i) tokens[i] = static_cast<unsigned char>(text[i]);
    return tokens;
  }

  std::string decode(std::span<const int64_t> tokens) const override {
    std::string text;
    for (const int64_t token : tokens) {
      if (token >= 0 && token < kBytes)
        text += static_cast<char>(token);
      else
        append_code_point(text, kReplacementCharacter);
    }
    return text;
  }

  nlohmann::json to_json() const override { return {{"type", "byte"}}; }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
  return std::make_unique<ByteTokenizer>();
}

}  // namespace exprun
