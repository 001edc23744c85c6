// The pre-tokenizer of any pattern of a tokenizer.json: the words that PCRE2 cuts a text into. What
// lies between two matches is a word too, so that no byte is lost.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace exprun {

// Compiled once; its matchers are for one thread each.
class WordPattern {
 public:
  // Throws Error that says what is wrong with the pattern. An empty one makes a text one word.
  explicit WordPattern(const std::string& pattern);
  ~WordPattern();
  WordPattern(WordPattern&&) noexcept;

 private:
  friend class PatternPretokenizer;
  struct Code;
  std::unique_ptr<Code> code_;
};

class PatternPretokenizer {
 public:
  explicit PatternPretokenizer(const WordPattern& pattern);
  ~PatternPretokenizer();

  // Begins with a text, which must stay.
  void start(std::string_view text);
  // The next word; empty at the end. Throws Error when matching needs more memory than it may.
  std::string_view next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The version of Unicode that decides what a letter is ("14.0.0"): PCRE2 has tables of its own.
std::string unicode_version();

// Patterns of a tokenizer.json are written for Oniguruma, and matched here by PCRE2.

// The first construct that is not known to mean the same to both ("\h", "[:space:]"); empty if
// there is none.
std::string foreign_construct(std::string_view pattern);

// The patterns of well-known tokenizers. Of these it is proved that a word ends at certain places
// whatever stands before and after, and that their words leave nothing out.
enum class PatternFamily {
  unknown,
  gpt2,  // gpt2_pretokenizer.h
  // cl100k (GPT-4), Llama 3, Qwen 2, o200k (GPT-4o): a run of letters takes along the character
  // before it, and line ends go with the signs before them.
  cl100k,
};

struct KnownPattern {
  std::string_view pattern;  // as a tokenizer.json writes it
  PatternFamily family;
};

std::span<const KnownPattern> known_patterns();

PatternFamily family_of(std::string_view pattern);

// Numbers apart from all else, each or as a run.
inline constexpr const char* kEachNumber = R"(\p{N})";
inline constexpr const char* kRunsOfNumbers = R"(\p{N}+)";

// Of patterns one after another: the last one's, where those before take numbers apart only. No
// place between two numbers is a certain end, and all others they leave as they are.
PatternFamily family_of(std::span<const std::string> patterns);

// Of the family cl100k: the last place of a text at which one word ends and the next begins, cut
// there or not, whatever follows. It is
//   before a space after what is none;
//   before an ASCII character that is neither letter nor apostrophe, or a CJK stop, after an ASCII
//   letter or a CJK ideograph;
//   after a line feed before what is neither white space nor a slash.
// 0 if there is none.
size_t last_certain_end(std::string_view text);

}  // namespace exprun
