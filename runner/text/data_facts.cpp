#include "text/data_facts.h"

#include "base/utf8.h"

namespace exprun {
namespace {

// Of a character tokenizer, whose table they are.
std::optional<std::u32string> characters_of(const nlohmann::json& tokenizer) {
  if (!tokenizer.is_object() || tokenizer.value("type", "") != "char") return std::nullopt;
  std::u32string characters;
  for (const nlohmann::json& character : tokenizer.at("table"))
    characters += first_code_point(character.get_ref<const std::string&>()).value;
  return characters;
}

}  // namespace

Facts facts_of(const PreparedData& data) {
  return {data.vocab_size, token_count(data.train), token_count(data.validation),
          characters_of(data.tokenizer)};
}

Facts facts_of(const Tokenizer& tokenizer) {
  return {tokenizer.vocab_size(), {}, {}, characters_of(tokenizer.to_json())};
}

}  // namespace exprun
