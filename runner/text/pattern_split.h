// The words that a pattern of PCRE2 cuts a text into: any pattern of a tokenizer.json. What lies
// between two matches is a word too, so that no byte is lost.
#pragma once

#include <memory>
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
  friend class PatternSplitter;
  struct Code;
  std::unique_ptr<Code> code_;
};

class PatternSplitter {
 public:
  explicit PatternSplitter(const WordPattern& pattern);
  ~PatternSplitter();

  // Begins with a text, which must stay.
  void start(std::string_view text);
  // The next word; empty at the end. Throws Error when matching needs more memory than it may.
  std::string_view next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace exprun
