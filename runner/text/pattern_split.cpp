#include "text/pattern_split.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <new>
#include <utility>

#include "base/diagnostic.h"
#include "base/utf8.h"

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
    throw Error("tokenizer: PCRE2 does not take the pattern '" + pattern +
                "': " + message_of(code) + "; use another tokenizer.json");
  if (may_match_nothing(code_->compiled) && !pattern.empty())
    throw Error("tokenizer: the pattern '" + pattern +
                "' may match nothing, which is a word to some and none to others; use another "
                "tokenizer.json");
  // Without JIT (some processors) the interpreter answers, slower and the same.
  pcre2_jit_compile(code_->compiled, PCRE2_JIT_COMPLETE);
}

WordPattern::~WordPattern() = default;
WordPattern::WordPattern(WordPattern&&) noexcept = default;

struct PatternSplitter::State {
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
  size_t match_begin = 0, match_end = 0;  // the next match, found already behind a gap
};

PatternSplitter::PatternSplitter(const WordPattern& pattern)
    : state_(std::make_unique<State>(pattern.code_->compiled)) {}
PatternSplitter::~PatternSplitter() = default;

void PatternSplitter::start(std::string_view text) {
  State& state = *state_;
  state.text = state.matched = text;
  if (first_invalid_byte(text)) state.matched = state.copy = mended(text);
  state.place = state.match_begin = state.match_end = 0;
}

std::string_view PatternSplitter::next() {
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

}  // namespace exprun
