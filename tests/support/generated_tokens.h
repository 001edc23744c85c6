// The tokens that a model writes, with its cache or without.
#pragma once

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/inference/generation.h"
#include "support/delegating_model.h"

namespace exprun {

class UncachedModel final : public DelegatingModel {
 public:
  using DelegatingModel::DelegatingModel;
  bool has_cache() const override { return false; }
};

// Decodes a token to its number and a space.
class Numbers final : public Tokenizer {
 public:
  int64_t vocab_size() const override { return kMost; }
  std::unique_ptr<Encoder> make_encoder() const override { return nullptr; }
  size_t safe_cut(std::string_view) const override { return 0; }
  std::string decode(std::span<const int64_t> tokens) const override {
    std::string text;
    for (const int64_t token : tokens) text += std::to_string(token) + " ";
    return text;
  }
  nlohmann::json to_json() const override { return nullptr; }

 private:
  static constexpr int64_t kMost = 1 << 20;
};

// The most likely ones, by generate_text().
inline std::vector<int64_t> greedy_tokens(Model& model, const Tokens& prompt, int64_t count) {
  const GenerationSettings settings{count, 0, 0, 1, {}};
  const std::string text = generate_text(model, Numbers(), prompt, settings, {}).text;
  std::vector<int64_t> tokens;
  const char* at = text.data();
  for (const char* const end = at + text.size(); at != end; ++at)
    at = std::from_chars(at, end, tokens.emplace_back()).ptr;
  return tokens;
}

}  // namespace exprun
