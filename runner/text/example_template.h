// The text of an example of instructions, from a JSON record: what is given, and what is learned.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace exprun {

// A stretch of an example.
struct ExamplePart {
  enum class Kind {
    text,         // encoded as it is: what looks like a special token is text
    special,      // of the template: the special token where the tokenizer has it, else text
    end_of_text,  // the tokenizer's end-of-text token where it has one, else text: a NUL
  };
  Kind kind = Kind::text;
  std::string text;
  bool is_learned = false;  // part of a response

  bool operator==(const ExamplePart&) const = default;
};

// A record is {"messages": [{"role": "user", "content": "..."}, ...]} with the roles system, user
// and assistant, or {"instruction", "input", "output"}, where an input may be missing or empty, or
// {"prompt", "response"} (or "completion").
class ExampleTemplate {
 public:
  // "plain", "alpaca", "chatml" or "llama3": what each writes is in the schema of the dataset.
  explicit ExampleTemplate(const std::string& name);

  // Throws Error for a record of another shape, one without a response among them.
  std::vector<ExamplePart> fill(std::string_view record) const;

  // An exchange in which nothing is said: all that the template writes itself.
  std::vector<ExamplePart> empty_exchange() const;

  // What stands before the response to one message of a user, with special tokens as text: the
  // prompt for it. It begins with a system message, unless that is empty.
  std::string prompt(const std::string& message, const std::string& system = "") const;

  // The same in Jinja, as transformers' apply_chat_template() reads it: of `messages`, and with
  // `add_generation_prompt` what stands before the next response. A response ends with
  // `end_of_text`, the text of the tokenizer's token, or a NUL where that is empty, unless the
  // template has a token of its own.
  std::string in_jinja(const std::string& end_of_text) const;

  // Those of `tokenizer` for its examples, which begin with the token before every text only where
  // the template writes it, and end after a response: at the last of `ends`, or at `end_marker`.
  TextBounds bounds(const Tokenizer& tokenizer) const;

 private:
  const struct TemplateForm* form_;
};

}  // namespace exprun
