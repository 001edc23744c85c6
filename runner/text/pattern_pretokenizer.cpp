#include "text/pattern_pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cctype>
#include <new>
#include <utility>

#include "base/diagnostic.h"
#include "base/utf8.h"
#include "text/gpt2_pretokenizer.h"
#include "text/unicode/unicode_classes.h"

namespace exprun {
namespace {

constexpr size_t kJitStackBytes = size_t{8} << 20;
// The property White_Space; \s of PCRE2 holds U+180E too, which others do not.
constexpr const char* kSpaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// The pattern with \s and \S written out, alone and (\s only) within brackets.
std::string with_spaces_written_out(const std::string& pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 's')
        out += in_class ? kSpaces : std::string("[") + kSpaces + "]";
      else if (escaped == 'S' && !in_class)
        out += std::string("[^") + kSpaces + "]";
      else
        (out += c) += escaped;
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

std::string message_of(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

bool may_match_nothing(const pcre2_code* code) {
  uint32_t answer = 0;
  return pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &answer) == 0 && answer != 0;
}

PCRE2_SPTR as_units(const char* text) {
  return reinterpret_cast<PCRE2_SPTR>(text);
}

// PCRE2 takes UTF-8 only. A broken byte becomes a control character: like it, it is neither
// letter, number nor space.
std::string mended(std::string_view text) {
  std::string copy;
  copy.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (point.valid)
      copy += point.bytes;
    else
      copy += '\x01';
    text.remove_prefix(point.bytes.size());
  }
  return copy;
}

}  // namespace

struct WordPattern::Code {
  pcre2_code* compiled = nullptr;
  ~Code() { pcre2_code_free(compiled); }
};

WordPattern::WordPattern(const std::string& pattern) : code_(std::make_unique<Code>()) {
  const std::string written = with_spaces_written_out(pattern);
  int code = 0;
  PCRE2_SIZE place = 0;
  code_->compiled = pcre2_compile(as_units(written.c_str()), written.size(), PCRE2_UTF | PCRE2_UCP,
                                  &code, &place, nullptr);
  if (!code_->compiled)
    throw Error("tokenizer: PCRE2 rejects the pattern '" + pattern + "': " + message_of(code) +
                "; use another tokenizer.json");
  if (may_match_nothing(code_->compiled) && !pattern.empty())
    throw Error("tokenizer: the pattern '" + pattern +
                "' can match an empty string, which tokenizers treat differently; use another "
                "tokenizer.json");
  // Without JIT (some processors) the interpreter answers, slower and the same.
  pcre2_jit_compile(code_->compiled, PCRE2_JIT_COMPLETE);
}

std::string unicode_version() {
  char version[32] = "";
  pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version);
  return version;
}

WordPattern::~WordPattern() = default;
WordPattern::WordPattern(WordPattern&&) noexcept = default;

struct PatternPretokenizer::State {
  explicit State(const pcre2_code* compiled)
      : code(compiled),
        data(pcre2_match_data_create(1, nullptr)),
        context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(32768, kJitStackBytes, nullptr)) {
    if (!data || !context || !stack) throw std::bad_alloc();
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~State() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }

  const pcre2_code* code;
  pcre2_match_data* data;
  pcre2_match_context* context;
  pcre2_jit_stack* stack;
  std::string_view text;     // as it was given
  std::string copy;          // where it is no UTF-8
  std::string_view matched;  // what PCRE2 sees: the text or the copy
  size_t place = 0;
  size_t match_begin = 0, match_end = 0;  // the next match, found already after a gap
};

PatternPretokenizer::PatternPretokenizer(const WordPattern& pattern)
    : state_(std::make_unique<State>(pattern.code_->compiled)) {}
PatternPretokenizer::~PatternPretokenizer() = default;

void PatternPretokenizer::start(std::string_view text) {
  State& state = *state_;
  state.text = state.matched = text;
  if (first_invalid_byte(text)) state.matched = state.copy = mended(text);
  state.place = state.match_begin = state.match_end = 0;
}

std::string_view PatternPretokenizer::next() {
  State& state = *state_;
  const size_t begin = state.place;
  if (begin == state.text.size()) return {};
  if (state.match_end <= begin) {
    const int found =
        pcre2_match(state.code, as_units(state.matched.data()), state.matched.size(), begin,
                    PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, state.data, state.context);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH)
      throw Error("tokenizer: PCRE2 gave up on a text: " + message_of(found));
    const PCRE2_SIZE* places = pcre2_get_ovector_pointer(state.data);
    state.match_begin = found < 0 ? state.text.size() : places[0];
    state.match_end = found < 0 ? state.text.size() : places[1];
  }
  state.place = state.match_begin > begin ? state.match_begin : state.match_end;
  return state.text.substr(begin, state.place - begin);
}

namespace {

constexpr std::string_view kGroups[] = {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!"};
constexpr std::string_view kEscapes = "sSdDrntpP";
constexpr std::string_view kCategories = "CLMNPSZ";

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

class Scan {
 public:
  explicit Scan(std::string_view pattern) : rest_(pattern) {}

  std::string run() {
    while (!rest_.empty()) {
      const size_t size = in_class_ ? in_class() : outside();
      if (size == 0) return std::string(rest_.substr(0, shown_));
      rest_.remove_prefix(size);
    }
    return "";
  }

 private:
  // How long the known construct is with which the rest begins; 0 for none.
  size_t outside() {
    switch (rest_[0]) {
      case '\\':
        return escape();
      case '[':
        return class_begin();
      case '(':
        return group();
      case '{':
        return repetition();
      case '^':
      case '$':  // the ends of lines to one, of the text to the other
        return foreign(1);
      default:
        return 1;
    }
  }

  size_t class_begin() {
    const size_t size = rest_.starts_with("[^") ? 2 : 1;
    if (rest_.substr(size).starts_with("]")) return foreign(size + 1);  // the end to one of them
    in_class_ = true;
    return size;
  }

  size_t in_class() {
    if (rest_[0] == '\\') return rest_.starts_with("\\S") ? foreign(2) : escape();
    if (rest_.starts_with("&&")) return foreign(2);
    if (rest_.starts_with("[:")) return foreign(std::min(rest_.find(":]"), rest_.size() - 2) + 2);
    if (rest_[0] == '[') return foreign(1);
    if (rest_[0] == ']') in_class_ = false;
    return 1;
  }

  size_t escape() {
    if (rest_.size() < 2) return foreign(1);
    if (!is_word_character(rest_[1])) return 2;
    if (kEscapes.find(rest_[1]) == std::string_view::npos) return foreign(2);
    return rest_[1] == 'p' || rest_[1] == 'P' ? property() : 2;
  }

  // \p{L}, \p{Lu}: scripts are other sets to both.
  size_t property() {
    const size_t size = std::min(rest_.find('}'), rest_.size() - 1) + 1;
    const bool known = (size == 5 || size == 6) && rest_[2] == '{' &&
                       kCategories.find(rest_[3]) != std::string_view::npos &&
                       (size == 5 || std::islower(static_cast<unsigned char>(rest_[4])));
    return known ? size : foreign(size);
  }

  size_t group() {
    if (!rest_.starts_with("(?")) return 1;
    for (const std::string_view known : kGroups)
      if (rest_.starts_with(known)) return known.size();
    return foreign(3);
  }

  // {2}, {2,} and {2,3}, without what makes it lazy or possessive to one only.
  size_t repetition() {
    const size_t size = std::min(rest_.find('}'), rest_.size() - 1) + 1;
    const std::string_view inner = rest_.substr(1, size - 2);
    const bool counted = !inner.empty() && std::isdigit(static_cast<unsigned char>(inner[0])) &&
                         inner.find_first_not_of("0123456789,") == std::string_view::npos;
    if (!counted) return foreign(size);
    const bool marked = size < rest_.size() && (rest_[size] == '+' || rest_[size] == '?');
    return marked ? foreign(size + 1) : size;
  }

  size_t foreign(size_t shown) {
    shown_ = shown;
    return 0;
  }

  std::string_view rest_;
  bool in_class_ = false;
  size_t shown_ = 0;
};

}  // namespace

std::string foreign_construct(std::string_view pattern) {
  return Scan(pattern).run();
}

namespace {

constexpr KnownPattern kKnown[] = {
    {kGpt2Pattern, PatternFamily::gpt2},
    // GPT-2's as OpenAI first wrote it
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     PatternFamily::gpt2},
    // Llama 3, and cl100k as it is in files of tokenizers
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     PatternFamily::cl100k},
    // cl100k as tiktoken has it
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
     PatternFamily::cl100k},
    // Qwen 2
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     PatternFamily::cl100k},
    // o200k
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     PatternFamily::cl100k},
};

bool is_letter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= 0x4e00 && c <= 0x9fa5);
}

bool is_stop(char32_t c) {
  return c == 0x3001 || c == 0x3002 || c == 0xff0c;
}

bool ends_letters(char32_t c) {
  return is_stop(c) || (c < 0x80 && !is_letter(c) && c != '\'');
}

bool is_space(char32_t c) {
  return char_classes()[c] == CharClass::space;
}

// The character that ends at `place`; a broken byte is one, and no space.
CodePoint before(std::string_view text, size_t place) {
  for (size_t size = std::min<size_t>(4, place); size > 1; --size) {
    const CodePoint point = first_code_point(text.substr(place - size, size));
    if (point.valid && point.bytes.size() == size) return point;
  }
  return first_code_point(text.substr(place - 1, 1));
}

bool is_certain(const CodePoint& left, const CodePoint& right) {
  if (!right.valid) return false;
  if (right.value == ' ' && !(left.valid && is_space(left.value))) return true;
  if (!left.valid) return false;
  if (left.value == '\n') return right.value != '/' && !is_space(right.value);
  return is_letter(left.value) && ends_letters(right.value);
}

}  // namespace

std::span<const KnownPattern> known_patterns() {
  return kKnown;
}

PatternFamily family_of(std::string_view pattern) {
  for (const KnownPattern& known : kKnown)
    if (known.pattern == pattern) return known.family;
  return PatternFamily::unknown;
}

PatternFamily family_of(std::span<const std::string> patterns) {
  if (patterns.empty()) return PatternFamily::unknown;
  for (const std::string& before : patterns.first(patterns.size() - 1))
    if (before != kEachNumber && before != kRunsOfNumbers) return PatternFamily::unknown;
  return family_of(patterns.back());
}

size_t last_certain_end(std::string_view text) {
  for (size_t place = text.size() - std::min<size_t>(1, text.size()); place > 0; --place)
    if (is_certain(before(text, place), first_code_point(text.substr(place)))) return place;
  return 0;
}

}  // namespace exprun
