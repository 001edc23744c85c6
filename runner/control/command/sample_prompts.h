// The prompts of `sample`: given as options, in a file, or typed at a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "control/command/command.h"
#include "text/example_template.h"

namespace exprun {

// What is asked for: what is shown of it, and what the model gets.
struct Prompt {
  std::string shown, given;
};

// What is wrong with it; empty if nothing.
std::string problem_of_prompt(const std::string& prompt);

struct GivenPrompt {
  std::string text;
  SourceSpan where;  // all of it, in its option or its line of a file
};

// Each is the value of an option --prompt.
std::vector<GivenPrompt> prompts_of_options(const Words& texts);

// The lines of a file, or of standard input ("-"). Throws Error where there are none.
std::vector<GivenPrompt> prompts_in(const std::string& file);

// How prompts become what the model gets: as they are, or as a run's examples of instructions.
class PromptForm {
 public:
  PromptForm() = default;
  PromptForm(ExampleTemplate form, std::string system)
      : template_(std::move(form)), system_(std::move(system)) {}

  // The message before each prompt, or empty.
  const std::string& system() const { return system_; }

  Prompt operator()(const std::string& prompt, bool is_typed) const {
    if (!template_) return {prompt, prompt};
    return {is_typed ? "" : prompt + '\n', template_->prompt(prompt, system_)};
  }

 private:
  std::optional<ExampleTemplate> template_;
  std::string system_;
};

// What is asked, in order: the prompts given, or those that are typed at a terminal.
class PromptSource {
 public:
  PromptSource(Words prompts, PromptForm form, bool interactive)
      : prompts_(std::move(prompts)), form_(std::move(form)), interactive_(interactive) {}

  bool is_interactive() const { return interactive_; }

  std::optional<Prompt> next();

 private:
  Words prompts_;
  PromptForm form_;
  bool interactive_;
  size_t next_ = 0;
};

}  // namespace exprun
