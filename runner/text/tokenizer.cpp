#include "text/tokenizer.h"

namespace exprun {
namespace {

struct Place {
  size_t begin = std::string_view::npos;
  size_t size = 0;
  uint32_t token = 0;
};

// The first special token of the text; of two that begin there, the longer one.
Place first_special(std::string_view text,
                    const std::vector<std::pair<std::string, uint32_t>>& special) {
  Place first;
  for (const auto& [name, token] : special) {
    const size_t begin = text.find(name);
    if (begin < first.begin || (begin == first.begin && name.size() > first.size))
      first = {begin, name.size(), token};
  }
  return first;
}

}  // namespace

Tokens Tokenizer::encode(std::string_view text) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!encoder_) encoder_ = make_encoder();
  Tokens tokens;
  TokenList list(tokens);
  encoder_->encode(text, list);
  return tokens;
}

Tokens Tokenizer::encode_with_special(std::string_view text) const {
  const auto special = special_tokens();
  Tokens tokens;
  for (;;) {
    const Place next = first_special(text, special);
    const Tokens before = encode(text.substr(0, next.begin));
    tokens.insert(tokens.end(), before.begin(), before.end());
    if (next.begin == std::string_view::npos) return tokens;
    tokens.push_back(next.token);
    text.remove_prefix(next.begin + next.size);
  }
}

}  // namespace exprun
