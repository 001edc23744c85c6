#include "text/bpe/vocabulary_readers.h"

#include <algorithm>
#include <charconv>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/files/file.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "text/bpe/bpe_vocabulary.h"
#include "text/bpe/token_ids.h"
#include "text/gpt2_pretokenizer.h"
#include "text/pattern_pretokenizer.h"

namespace exprun {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<uint32_t> hex_digit(char c) {
  if (is_digit(c)) return static_cast<uint32_t>(c - '0');
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') return static_cast<uint32_t>(lower - 'a' + 10);
  return std::nullopt;
}

// RFC 8259, of what is allowed here. Names are decoded where they lie: none becomes longer.
class IdObject {
 public:
  explicit IdObject(std::string& json) : at_(json.data()), end_(json.data() + json.size()) {
    if (json.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
  }

  bool read(const std::function<void(std::string_view, uint64_t)>& use) {
    if (!take('{')) return false;
    if (!take('}')) {
      do {
        if (!take('"')) return false;
        const char* const name = at_;
        if (!read_string() || !take(':') || !read_number()) return false;
        use({name, name_end_}, id_);
      } while (take(','));
      if (!take('}')) return false;
    }
    skip_space();
    return at_ == end_;
  }

 private:
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  bool take(char wanted) {
    skip_space();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  // After its first quote.
  bool read_string() {
    const char* const begin = name_end_ = at_;
    unsigned char bits = 0;
    for (;;) {
      // The end is the zero after a std::string, which is no character of a name either.
      for (; !ends_run(*at_); ++at_) bits |= static_cast<unsigned char>(*name_end_++ = *at_);
      if (at_ == end_) return false;
      const char behind = *at_++;
      if (behind == '"') return bits < 0x80 || !first_invalid_byte({begin, name_end_});
      if (behind != '\\' || !read_escape()) return false;
    }
  }

  static bool ends_run(char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ';
  }

  // After its backslash.
  bool read_escape() {
    if (at_ == end_) return false;
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const char name = *at_++;
    if (name == 'u') return read_code_point();
    const size_t known = kNames.find(name);
    if (known == std::string_view::npos) return false;
    *name_end_++ = kMeant[known];
    return true;
  }

  // Above U+FFFF a pair of surrogates.
  bool read_code_point() {
    auto value = read_hex();
    if (!value || (*value >= 0xdc00 && *value < 0xe000)) return false;
    if (*value >= 0xd800 && *value < 0xdc00) {
      if (end_ - at_ < 2 || *at_++ != '\\' || *at_++ != 'u') return false;
      const auto low = read_hex();
      if (!low || *low < 0xdc00 || *low >= 0xe000) return false;
      value = 0x10000 + ((*value - 0xd800) << 10) + (*low - 0xdc00);
    }
    name_end_ = write_code_point(name_end_, *value);
    return true;
  }

  std::optional<uint32_t> read_hex() {
    if (end_ - at_ < 4) return std::nullopt;
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const auto digit = hex_digit(*at_++);
      if (!digit) return std::nullopt;
      value = value << 4 | *digit;
    }
    return value;
  }

  bool read_number() {
    skip_space();
    if (end_ - at_ > 1 && at_[0] == '0' && is_digit(at_[1])) return false;
    const auto [behind, error] = std::from_chars(at_, end_, id_);
    at_ += behind - at_;
    return error == std::errc();
  }

  char* at_;
  char* const end_;
  char* name_end_ = nullptr;
  uint64_t id_ = 0;
};

}  // namespace

bool read_id_object(std::string json, const std::function<void(std::string_view, uint64_t)>& use) {
  return IdObject(json).read(use);
}

namespace {

// vocab.bpe and encoder.json: the merges a line, by rank, and the ids.

namespace fs = std::filesystem;

// On average, at least.
constexpr size_t kBytesOfId = 16, kBytesOfMerge = 8;

// What is not of the alphabet of bytes is a special token: <|endoftext|> is of it, but no merge
// makes it.
void read_ids(BpeVocabulary& vocabulary, TokenIds& ids, const fs::path& file) {
  std::string bytes;
  const auto add = [&](std::string_view name, uint64_t id) {
    bytes.resize(name.size());
    char* end = bytes.data();
    const bool special = (name.starts_with("<|") && name.ends_with("|>")) ||
                         decode_alphabet(name, end) < name.size();
    ids.add(special ? name : std::string_view(bytes.data(), end), id);
    if (special) vocabulary.special.emplace_back(name, static_cast<uint32_t>(id));
  };
  std::string json = read_file(file);
  vocabulary.tokens.reserve(json.size() / kBytesOfId);
  if (!read_id_object(std::move(json), add))
    throw Error("tokenizer: '" + file.string() +
                "' is not a JSON object of tokens and ids; download it again");
  ids.index();
}

struct Lines {
  MergeSides merges;
  size_t wrong = 0;  // the number of the first that is no merge: those before it are read
};

// The lines are decoded where they lie: neither a space nor a line feed is of the alphabet.
Lines read_lines(const fs::path& file) {
  Lines lines;
  auto& [text, sizes] = lines.merges;
  text = read_file(file);
  if (!text.ends_with('\n')) text += '\n';
  sizes.reserve(text.size() / kBytesOfMerge);
  std::string_view rest = text;
  char* bytes = text.data();
  // Its size; 0 where `end` does not follow.
  const auto read_side = [&](char end) {
    const char* const begin = bytes;
    rest.remove_prefix(decode_alphabet(rest, bytes));
    if (!rest.starts_with(end)) return uint32_t{0};
    rest.remove_prefix(1);
    return static_cast<uint32_t>(bytes - begin);
  };
  for (size_t number = 1; !rest.empty(); ++number) {
    if (number == 1 && rest.starts_with("#version")) rest.remove_prefix(rest.find('\n'));
    if (rest.starts_with('\n')) {
      rest.remove_prefix(1);
      continue;
    }
    const uint32_t left = read_side(' '), right = left > 0 ? read_side('\n') : 0;
    if (right == 0) {
      lines.wrong = number;
      break;
    }
    sizes.push_back({left, right});
  }
  text.resize(static_cast<size_t>(bytes - text.data()));
  return lines;
}

}  // namespace

BpeVocabulary read_merges_and_ids(const fs::path& merges, const fs::path& ids) {
  // In a thread of its own if one can be had; what is wrong with the ids is told before.
  auto reading = std::async(std::launch::async | std::launch::deferred, read_lines, merges);
  BpeVocabulary vocabulary;
  vocabulary.patterns = {kGpt2Pattern};
  TokenIds tokens(vocabulary, ids);
  read_ids(vocabulary, tokens, ids);
  const Lines lines = reading.get();
  tokens.add_merges(lines.merges, merges);
  if (lines.wrong > 0)
    throw Error("tokenizer: line " + std::to_string(lines.wrong) + " of '" + merges.string() +
                "' is not a merge of two tokens; download it again");
  return vocabulary;
}

namespace {

// A tiktoken file: a token in base64 and its rank a line. Any two neighbours merge whose bytes
// together are a token, those of the lowest rank first.

namespace fs = std::filesystem;

constexpr size_t kGpt2Ranks = 50256;
constexpr std::string_view kEndOfText = "<|endoftext|>";  // no rank has it

int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

// RFC 4648, with its padding.
std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = digit_of(c);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

void read_line(std::string_view line, size_t number, TokenIds& ids) {
  const size_t space = line.find(' ');
  const auto bytes = from_base64(line.substr(0, space));
  uint64_t rank = 0;
  const char* const end = line.data() + line.size();
  const bool good = bytes && space != std::string_view::npos &&
                    std::from_chars(line.data() + space + 1, end, rank).ptr == end;
  if (!good) throw ids.error_in_line(number);
  ids.add(*bytes, rank);
}

// Of every token each way to make it of two others.
void add_merges(BpeVocabulary& vocabulary, const TokenIds& ids) {
  for (uint32_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string_view bytes = vocabulary.tokens[id];
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = ids.find(bytes.substr(0, cut));
      const auto right = left ? ids.find(bytes.substr(cut)) : std::nullopt;
      if (right) vocabulary.merges.push_back({*left, *right, id, id});
    }
  }
}

}  // namespace

BpeVocabulary read_ranks(const fs::path& file) {
  BpeVocabulary vocabulary;
  vocabulary.patterns = {kGpt2Pattern};
  vocabulary.whole_words = true;
  TokenIds ids(vocabulary, file);
  const std::string text = read_file(file);
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    ++number;
    if (end > begin) read_line(std::string_view(text).substr(begin, end - begin), number, ids);
    begin = end + 1;
  }
  ids.index();
  if (vocabulary.tokens.size() != kGpt2Ranks)
    throw Error("tokenizer: '" + file.string() + "' has " +
                pluralize(static_cast<int64_t>(vocabulary.tokens.size()), "rank") +
                ", but GPT-2 has 50,256; a tiktoken file does not say how text is split into "
                "words");
  add_merges(vocabulary, ids);
  if (ids.find(kEndOfText))
    throw ids.error("has the token '" + std::string(kEndOfText) + "' twice");
  ids.add(kEndOfText, kGpt2Ranks);
  vocabulary.special.emplace_back(kEndOfText, kGpt2Ranks);
  return vocabulary;
}

namespace {

// tokenizer.json of HuggingFace's tokenizers: BPE over bytes, words by a pattern, added tokens.
// What would give other tokens than ours (other normalizers than NFC, other pre-tokenizers, byte
// fallback, patterns that other libraries read otherwise) is refused by name.

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kPostProcessor = "post_processor";

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw Error("tokenizer: '" + file.string() + "' " + what +
              "; exprun supports plain byte-level BPE (ByteLevel, with or without Split and Digits "
              "before it)");
}

// Of a file from elsewhere: steps are read by recursion.
void refuse_depth(const fs::path& file, int depth) {
  constexpr int kMostDepth = 8;
  if (depth > kMostDepth)
    refuse(file, "has more than " + std::to_string(kMostDepth) + " sequences within one another");
}

// The id of the special token that a template has before every text, of several steps the last
// one's: {"single": [{"SpecialToken": {"id": NAME}}, {"Sequence": ...}], "special_tokens": {NAME:
// {"ids": [ID]}}}. Null without one.
json begin_token(const fs::path& file, const json& step, int depth = 0) {
  if (step.is_null()) return {};
  const auto type = step.at("type").get<std::string>();
  json found;
  if (type == "Sequence") {
    refuse_depth(file, ++depth);
    for (const json& part : step.at("processors"))
      if (json token = begin_token(file, part, depth); !token.is_null()) found = std::move(token);
  }
  if (type != "TemplateProcessing" || step.at("single").empty()) return found;
  const json& first = step.at("single").front();
  if (!first.contains("SpecialToken")) return found;
  const auto name = first.at("SpecialToken").at("id").get<std::string>();
  return step.at("special_tokens").at(name).at("ids").at(0);
}

class Reader {
 public:
  explicit Reader(const fs::path& file) : file_(file), ids_(vocabulary_, file) {}

  BpeVocabulary read() {
    const json root = parse_json<json>(read_file(file_));
    read_normalizer(root.value("normalizer", json()));
    read_words(root.at("pre_tokenizer"));
    if (!has_bytes_) refuse("has no ByteLevel");
    read_model(root.at("model"));
    const json& model = root.at("model").at("vocab");
    for (const json& added : root.value("added_tokens", json::array())) read_added(added, model);
    read_begin(begin_token(file_, root.value(kPostProcessor, json())));
    return std::move(vocabulary_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { exprun::refuse(file_, what); }
  void refuse_depth(int depth) const { exprun::refuse_depth(file_, depth); }

  // NFC is that of Qwen; a sequence of none is what some files have.
  void read_normalizer(const json& step, int depth = 0) {
    if (step.is_null()) return;
    const auto type = step.at("type").get<std::string>();
    if (type == "NFC") {
      vocabulary_.composes = true;
      return;
    }
    if (type != "Sequence") refuse("has the normalizer " + type);
    refuse_depth(++depth);
    for (const json& part : step.at("normalizers")) read_normalizer(part, depth);
  }

  void read_words(const json& step, int depth = 0) {
    const auto type = step.at("type").get<std::string>();
    if (type == "Sequence") {
      refuse_depth(++depth);
      for (const json& part : step.at("pretokenizers")) read_words(part, depth);
    } else if (type == "Split") {
      read_split(step);
    } else if (type == "Digits") {
      take_pattern(step.value("individual_digits", false) ? kEachNumber : kRunsOfNumbers);
    } else if (type == "ByteLevel") {
      if (has_bytes_) refuse("has ByteLevel twice");
      if (step.value("add_prefix_space", true)) refuse("adds a space before every text");
      if (step.value("use_regex", true)) take_pattern(kGpt2Pattern);
      has_bytes_ = true;
    } else {
      refuse("has the pre_tokenizer " + type);
    }
  }

  void read_split(const json& split) {
    const json& pattern = split.at("pattern");
    if (!pattern.contains("Regex")) refuse("splits at a String, not a Regex");
    const auto text = pattern.at("Regex").get<std::string>();
    const auto behavior = split.at("behavior").get<std::string>();
    const bool inverted = split.value("invert", false);
    if (behavior == "Removed" && inverted && family_of(text) == PatternFamily::unknown)
      refuse("removes what its pattern does not match");
    if (!(behavior == "Isolated" && !inverted) && !(behavior == "Removed" && inverted))
      refuse("splits with behavior " + behavior + (inverted ? " and invert = true" : ""));
    take_pattern(text);
  }

  void take_pattern(const std::string& pattern) {
    if (has_bytes_) refuse("splits after ByteLevel");
    if (const std::string foreign = foreign_construct(pattern); !foreign.empty())
      refuse("splits by a pattern with " + foreign + ", which PCRE2 interprets differently");
    const bool is_gpt2 = family_of(pattern) == PatternFamily::gpt2;
    vocabulary_.patterns.push_back(is_gpt2 ? kGpt2Pattern : pattern);
  }

  void read_model(const json& model) {
    if (model.value("type", "BPE") != "BPE") refuse("is of the type " + json_text(model["type"]));
    if (model.value("byte_fallback", false)) refuse("falls back to bytes");
    if (!model.value("dropout", json()).is_null()) refuse("drops merges at random");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (const json part = model.value(key, json()); part.is_string() && part != "")
        refuse(std::string("has the key ") + key);
    vocabulary_.whole_words = model.value("ignore_merges", false);
    for (const auto& [name, id] : model.at("vocab").items())
      ids_.add(bytes_of_alphabet(name).value_or(name), whole_id(id));
    ids_.index();
    MergeSides merges;
    for (const json& merge : model.at("merges")) read_merge(merge, merges);
    ids_.add_merges(merges, file_);
  }

  // "a b", or ["a", "b"] since 2024.
  void read_merge(const json& merge, MergeSides& merges) {
    std::string left, right;
    if (merge.is_array()) {
      left = merge.at(0).get<std::string>();
      right = merge.at(1).get<std::string>();
    } else {
      const auto both = merge.get<std::string>();
      left = both.substr(0, both.find(' '));
      right = both.substr(left.size() + 1);
    }
    const auto a = bytes_of_alphabet(left), b = bytes_of_alphabet(right);
    if (!a || !b)
      refuse("merges '" + left + "' and '" + right + "', which do not both stand for bytes");
    merges.bytes.append(*a).append(*b);
    merges.sizes.push_back({static_cast<uint32_t>(a->size()), static_cast<uint32_t>(b->size())});
  }

  // Tokenizers numbers them anew: as the model does, or after all before.
  uint64_t id_of_added(const std::string& text, const json& model) const {
    if (const auto same = model.find(text); same != model.end()) return whole_id(*same);
    return std::max(uint64_t{model.size()}, last_added_ + 1);
  }

  uint64_t whole_id(const json& id) const {
    if (!id.is_number_unsigned())
      throw ids_.error("has the id " + json_text(id) + ", which is not an integer");
    return id.get<uint64_t>();
  }

  void read_added(const json& added, const json& model) {
    const auto text = added.at("content").get<std::string>();
    const uint64_t written = whole_id(added.at("id"));
    const auto id = static_cast<uint32_t>(written);
    if (text.empty()) refuse("has an added token without text");
    if (const auto expected = id_of_added(text, model); written != expected)
      refuse("gives the added token " + json_text(json(text)) + " the id " +
             std::to_string(written) + ", but the tokenizers library gives it " +
             std::to_string(expected));
    last_added_ = std::max(last_added_, uint64_t{id});
    const bool special = added.value("special", false);
    for (const char* key : {"single_word", "lstrip", "rstrip"})
      if (!special && added.value(key, false))
        refuse("has the added token " + json_text(json(text)) + " with " + key);
    const bool known = id < vocabulary_.tokens.size() && vocabulary_.tokens[id] == text;
    if (!known) {
      ids_.add(text, id);
      vocabulary_.beside_model.push_back(id);
    }
    vocabulary_.added.push_back({text, id, special, added.value("normalized", !special)});
    if (special) vocabulary_.special.emplace_back(text, id);
  }

  void read_begin(const json& token) {
    if (token.is_null()) return;
    const uint64_t id = whole_id(token);
    if (id >= vocabulary_.tokens.size() || vocabulary_.tokens[id].empty())
      throw ids_.error("begins every text with token " + std::to_string(id) +
                       ", which is not in its vocabulary");
    vocabulary_.begin_of_text = static_cast<uint32_t>(id);
  }

  fs::path file_;
  BpeVocabulary vocabulary_;
  TokenIds ids_;
  uint64_t last_added_ = 0;
  bool has_bytes_ = false;
};

}  // namespace

BpeVocabulary read_tokenizer_json(const fs::path& file) try {
  return Reader(file).read();
} catch (const json::exception& error) {
  throw Error("tokenizer: '" + file.string() + "' is not the tokenizer.json of a BPE tokenizer (" +
              json_problem(error) + ")");
} catch (const std::out_of_range&) {
  throw Error("tokenizer: '" + file.string() + "' has a merge of one token; download it again");
}

bool tokenizer_json_begins_texts(const fs::path& file) try {
  return !begin_token(file, value_in_object(read_file(file), kPostProcessor)).is_null();
} catch (const json::exception&) {
  return false;
}

}  // namespace exprun
