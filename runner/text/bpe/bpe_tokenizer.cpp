#include "text/bpe/bpe_tokenizer.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "text/bpe/bpe_vocabulary.h"
#include "text/bpe/merge_word.h"
#include "text/gpt2_pretokenizer.h"
#include "text/pattern_pretokenizer.h"
#include "text/unicode/nfc.h"

namespace exprun {
namespace {

// What encoders read; shared by all threads.
struct Bpe {
  explicit Bpe(BpeTables from)
      : vocabulary(std::move(from)), added(vocabulary.added, vocabulary.composes) {
    const auto& all = vocabulary.patterns;
    splits_as_gpt2 = !all.empty() && all.back() == kGpt2Pattern;
    for (const std::string& pattern : std::span(all).first(all.size() - splits_as_gpt2))
      patterns.emplace_back(pattern);
    if (all.empty()) patterns.emplace_back("");
    if (vocabulary.whole_words) find_words();
  }

  void find_words() {
    for (uint32_t id = 0; id < vocabulary.tokens.size(); ++id)
      if (!vocabulary.tokens[id].empty()) words.emplace(vocabulary.tokens[id], id);
    for (const auto& [text, id] : vocabulary.special) words.erase(text);
    // Of the same bytes that of the model has come first: its id is lower.
    for (const uint32_t id : vocabulary.beside_model)
      if (const auto word = words.find(vocabulary.tokens[id]);
          word != words.end() && word->second == id)
        words.erase(word);
  }

  BpeTables vocabulary;
  AddedTokens added;
  std::vector<WordPattern> patterns;
  bool splits_as_gpt2;  // after all patterns, by hand
  std::unordered_map<std::string_view, uint32_t> words;
};

// From words to tokens: what a word becomes is remembered.
class WordEncoder {
  // A set of the first is one cache line; the second is for what the first has no room for.
  using ShortWords = WordCache<2, 3, size_t{1} << 15>;    // 2 MiB
  using LongerWords = WordCache<4, 15, size_t{1} << 12>;  // 0.75 MiB

 public:
  static constexpr size_t kReadBytes = LongerWords::kReadBytes;

  explicit WordEncoder(const Bpe& bpe) : bpe_(bpe), long_word_(bpe.vocabulary) {}

  // From `word` on kReadBytes may be read.
  void encode(const char* word, size_t size, TokenSink& tokens) {
    if (used_ + LongerWords::kMostTokens > kBuffered) flush(tokens);
    if (take_known(short_words_, word, size) || take_known(longer_words_, word, size)) return;
    if (size > LongWord::kPieceBytes && !whole_word(word, size))
      return encode_long(word, size, tokens);
    merge(word, size);
    append(word_, tokens);
    if (!keep(short_words_, word, size)) keep(longer_words_, word, size);
  }

  void flush(TokenSink& tokens) {
    if (used_ > 0) tokens.append({buffer_, used_});
    used_ = 0;
  }

 private:
  static constexpr size_t kBuffered = 2048;

  template <class Words>
  bool take_known(Words& words, const char* word, size_t size) {
    if (size > Words::kMostBytes) return false;
    const auto* known = words.find(Words::key_of(word, size));
    if (!known) return false;
    std::memcpy(buffer_ + used_, known->tokens, sizeof known->tokens);
    used_ += known->count;
    return true;
  }

  template <class Words>
  bool keep(Words& words, const char* word, size_t size) {
    if (size > Words::kMostBytes || word_.size() > Words::kMostTokens) return false;
    words.keep(Words::key_of(word, size), word_);
    return true;
  }

  void encode_long(const char* word, size_t size, TokenSink& tokens) {
    Tokens long_word;  // no memory for it is kept
    long_word_.encode({word, size}, long_word);
    append(long_word, tokens);
  }

  std::optional<uint32_t> whole_word(const char* word, size_t size) const {
    if (bpe_.words.empty()) return std::nullopt;
    const auto whole = bpe_.words.find({word, size});
    return whole == bpe_.words.end() ? std::nullopt : std::optional(whole->second);
  }

  void append(const Tokens& word, TokenSink& tokens) {
    if (used_ + word.size() > kBuffered) flush(tokens);
    if (word.size() > kBuffered) return tokens.append(word);
    std::copy(word.begin(), word.end(), buffer_ + used_);
    used_ += word.size();
  }

  void merge(const char* word, size_t size) {
    word_.clear();
    if (const auto whole = whole_word(word, size)) return word_.push_back(*whole);
    for (size_t i = 0; i < size; ++i)
      word_.push_back(bpe_.vocabulary.byte_tokens[static_cast<unsigned char>(word[i])]);
    merge_word(bpe_.vocabulary.merges, word_);
  }

  const Bpe& bpe_;
  LongWord long_word_;
  ShortWords short_words_;
  LongerWords longer_words_;
  Tokens word_;
  uint32_t buffer_[kBuffered];
  size_t used_ = 0;
};

class Gpt2Encoder final : public Encoder {
 public:
  explicit Gpt2Encoder(const Bpe& bpe) : words_(bpe) {}

  void encode(std::string_view text, TokenSink& tokens) override {
    if (text.size() >= kRead) text = encode_until(text.size() - kRead + 1, text, tokens);
    char last[2 * kRead] = {};  // after its words as many bytes may be read
    text.copy(last, text.size());
    encode_until(text.size(), {last, text.size()}, tokens);
    words_.flush(tokens);
  }

 private:
  static constexpr size_t kRead = WordEncoder::kReadBytes;

  // The words that begin before `limit`. Returns what follows them.
  std::string_view encode_until(size_t limit, std::string_view text, TokenSink& tokens) {
    const char* const stop = text.data() + limit;
    const char* const end = text.data() + text.size();
    const char* word = text.data();
    while (word < stop) {
      const char* const behind = pretokenizer_.end_of_word(word, end);
      words_.encode(word, static_cast<size_t>(behind - word), tokens);
      word = behind;
    }
    return {word, static_cast<size_t>(end - word)};
  }

  Gpt2Pretokenizer pretokenizer_;
  WordEncoder words_;
};

class PatternEncoder final : public Encoder {
 public:
  PatternEncoder(const Bpe& bpe, const WordPattern& pattern)
      : pretokenizer_(pattern), words_(bpe) {}

  void encode(std::string_view text, TokenSink& tokens) override {
    pretokenizer_.start(text);
    const char* const end = text.data() + text.size();
    for (auto word = pretokenizer_.next(); !word.empty(); word = pretokenizer_.next()) {
      char copy[WordEncoder::kReadBytes] = {};
      const bool at_end = static_cast<size_t>(end - word.data()) < sizeof copy;
      if (at_end) word.copy(copy, word.size());
      words_.encode(at_end ? copy : word.data(), word.size(), tokens);
    }
    words_.flush(tokens);
  }

 private:
  PatternPretokenizer pretokenizer_;
  WordEncoder words_;
};

// What one pattern leaves, for the patterns after it.
class PieceEncoder final : public Encoder {
 public:
  PieceEncoder(const WordPattern& pattern, std::unique_ptr<Encoder> inner)
      : pretokenizer_(pattern), inner_(std::move(inner)) {}

  void encode(std::string_view text, TokenSink& tokens) override {
    pretokenizer_.start(text);
    for (auto piece = pretokenizer_.next(); !piece.empty(); piece = pretokenizer_.next())
      inner_->encode(piece, tokens);
  }

 private:
  PatternPretokenizer pretokenizer_;
  std::unique_ptr<Encoder> inner_;
};

std::unique_ptr<Encoder> make_encoder_of_words(const Bpe& bpe) {
  std::span<const WordPattern> before = bpe.patterns;
  std::unique_ptr<Encoder> encoder;
  if (bpe.splits_as_gpt2) {
    encoder = std::make_unique<Gpt2Encoder>(bpe);
  } else {
    encoder = std::make_unique<PatternEncoder>(bpe, before.back());
    before = before.first(before.size() - 1);
  }
  for (; !before.empty(); before = before.first(before.size() - 1))
    encoder = std::make_unique<PieceEncoder>(before.back(), std::move(encoder));
  return encoder;
}

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(BpeTables vocabulary, std::filesystem::path path)
      : bpe_(std::move(vocabulary)),
        family_(family_of(bpe_.vocabulary.patterns)),
        path_(std::move(path)) {}

  int64_t vocab_size() const override {
    return static_cast<int64_t>(bpe_.vocabulary.tokens.size());
  }

  std::unique_ptr<Encoder> make_encoder() const override {
    return with_added_tokens(bpe_.added, make_encoder_of_words(bpe_));
  }

  size_t safe_cut(std::string_view text) const override {
    for (size_t end = last_end_of_word(text); end > 0; end = last_end_of_word(text.substr(0, end)))
      if (may_end_at(text, end)) return end;
    return 0;
  }

  std::string decode(std::span<const int64_t> tokens) const override {
    std::string text;
    const auto& known = bpe_.vocabulary.tokens;
    for (const int64_t token : tokens) {
      const bool there = token >= 0 && token < vocab_size() && !known[token].empty();
      if (there)
        text += known[static_cast<size_t>(token)];
      else
        append_code_point(text, kReplacementCharacter);
    }
    return text;
  }

  std::optional<uint32_t> begin_of_text() const override { return bpe_.vocabulary.begin_of_text; }
  std::optional<uint32_t> end_of_text() const override { return bpe_.vocabulary.end_of_text; }
  std::vector<std::pair<std::string, uint32_t>> special_tokens() const override {
    return bpe_.vocabulary.special;
  }
  nlohmann::json to_json() const override {
    return {{"type", "bpe"}, {"vocabulary", path_.string()}};
  }

 private:
  // No added token stands across the end of a word, and no character is composed there.
  bool may_end_at(std::string_view text, size_t end) const {
    return !(bpe_.added.any() && bpe_.added.may_cover(text, end)) &&
           (!bpe_.vocabulary.composes || is_apart_in_nfc(text, end));
  }

  // One that is certain where there are words only; of unknown patterns nothing is.
  size_t last_end_of_word(std::string_view text) const {
    if (family_ == PatternFamily::unknown) return 0;
    return family_ == PatternFamily::gpt2 ? Gpt2Pretokenizer().last_certain_end(text)
                                          : last_certain_end(text);
  }

  Bpe bpe_;
  PatternFamily family_;
  std::filesystem::path path_;
};

}  // namespace

std::unique_ptr<Tokenizer> load_bpe_tokenizer(const std::filesystem::path& path) {
  return std::make_unique<BpeTokenizer>(load_bpe_tables(path), path);
}

}  // namespace exprun
