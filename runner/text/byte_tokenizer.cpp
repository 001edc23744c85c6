#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "text/tokenizer.h"

namespace exprun {
namespace {

constexpr int64_t kBytes = 256;

class ByteEncoder final : public Encoder {
 public:
  void encode(std::string_view text, TokenSink& tokens) override {
    uint32_t block[1024];
    while (!text.empty()) {
      const size_t count = std::min(std::size(block), text.size());
      std::copy_n(reinterpret_cast<const unsigned char*>(text.data()), count, block);
      tokens.append({block, count});
      text.remove_prefix(count);
    }
  }
};

class ByteTokenizer final : public Tokenizer {
 public:
  int64_t vocab_size() const override { return kBytes; }
  std::unique_ptr<Encoder> make_encoder() const override { return std::make_unique<ByteEncoder>(); }
  size_t safe_cut(std::string_view text) const override { return text.size(); }

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
