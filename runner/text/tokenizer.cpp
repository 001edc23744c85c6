#include "text/tokenizer.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "text/bpe/bpe_tokenizer.h"
#include "text/char_tokenizer.h"

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

std::optional<uint32_t> Tokenizer::special_token(std::string_view text) const {
  for (const auto& [special, token] : special_tokens())
    if (special == text) return token;
  return std::nullopt;
}

TextBounds Tokenizer::bounds() const {
  if (bounds_) return *bounds_;
  TextBounds bounds{begin_of_text(), {}, ""};
  if (const auto end = end_of_text()) bounds.ends.push_back(*end);
  return bounds;
}

Tokens Tokenizer::encode_prompt(std::string_view text) const {
  Tokens tokens = encode_with_special(text);
  if (const auto begin = bounds().begin; begin && (tokens.empty() || tokens.front() != *begin))
    tokens.insert(tokens.begin(), *begin);
  return tokens;
}

namespace {

using nlohmann::json;

char32_t only_character(const std::string& text) {
  const std::vector<CodePoint> points = code_points(text);
  if (points.size() == 1 && points[0].valid) return points[0].value;
  throw Error("tokenizer: '" + to_valid_utf8(text) +
              "' in its table is not one character; prepare the data again");
}

std::u32string read_table(const json& table) {
  std::u32string characters;
  for (const json& entry : table) characters += only_character(entry.get<std::string>());
  return characters;
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const json& description) try {
  const auto type = description.at("type").get<std::string>();
  if (type == "byte") return make_byte_tokenizer();
  if (type == "char") return make_char_tokenizer(read_table(description.at("table")));
  if (type == "bpe") return load_bpe_tokenizer(description.at("vocabulary").get<std::string>());
  throw Error("tokenizer: type '" + type + "' is unknown; there are byte, char and bpe");
} catch (const json::exception&) {
  throw Error("tokenizer: its description is damaged; prepare the data again");
}

namespace {

// Of a WordLevel model whose words are characters, numbered from 0; nothing for any other file.
std::optional<std::u32string> character_table(const std::filesystem::path& file) {
  if (file.extension() != ".json" || !file_exists(file)) return std::nullopt;
  const std::string text = read_file(file);
  if (text.find("\"WordLevel\"") == std::string::npos) return std::nullopt;
  const json parsed = parse_json_or_discard<json>(text);
  const json model = parsed.is_object() ? parsed.value("model", json::object()) : json::object();
  const json words = model.value("vocab", json::object());
  if (model.value("type", "") != "WordLevel") return std::nullopt;
  std::u32string table(words.size(), 0);
  std::vector<bool> taken(words.size());
  for (const auto& [word, id] : words.items()) {
    const std::vector<CodePoint> points = code_points(word);
    const size_t number = id.is_number_unsigned() ? id.get<size_t>() : words.size();
    if (points.size() != 1 || !points[0].valid || number >= words.size() || taken[number])
      return std::nullopt;
    table[number] = points[0].value;
    taken[number] = true;
  }
  return table;
}

}  // namespace

std::unique_ptr<Tokenizer> load_vocabulary(const std::filesystem::path& path) {
  const bool is_folder = folder_exists(path);
  if (auto table = character_table(is_folder ? path / "tokenizer.json" : path))
    return make_char_tokenizer(std::move(*table));
  return load_bpe_tokenizer(path);
}

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
