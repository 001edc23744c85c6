#include "control/command/sample_prompts.h"

#include <iostream>
#include <iterator>
#include <sstream>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

// Asks for prompts at a terminal, until Ctrl-D.
std::optional<std::string> typed_prompt() {
  std::string line;
  for (;;) {
    print("> ");
    std::cout.flush();
    if (!std::getline(std::cin, line)) {
      print("\n");
      return std::nullopt;
    }
    if (!line.empty()) return line;
  }
}

// One that can be used, of those that are typed.
std::optional<std::string> usable_prompt() {
  while (auto prompt = typed_prompt()) {
    const std::string problem = problem_of_prompt(*prompt);
    if (problem.empty()) return prompt;
    log_warning("sample: " + problem);
  }
  return std::nullopt;
}

}  // namespace

std::string problem_of_prompt(const std::string& prompt) {
  const auto byte = first_invalid_byte(prompt);
  return byte ? "the prompt is not UTF-8: byte " + std::to_string(*byte) : "";
}

std::vector<GivenPrompt> prompts_of_options(const Words& texts) {
  std::vector<GivenPrompt> prompts;
  for (const std::string& text : texts) {
    const auto option = std::make_shared<SourceFile>(SourceFile{"--prompt", text});
    prompts.push_back({text, span_of(option, 0, text.size())});
  }
  return prompts;
}

std::vector<GivenPrompt> prompts_in(const std::string& file) {
  std::string text =
      file == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : read_file(file);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const bool is_input = file == "-";
  const std::string name = is_input ? "standard input" : shell_quoted(file);
  const auto source =
      std::make_shared<SourceFile>(SourceFile{is_input ? name : file, std::move(text)});
  std::vector<GivenPrompt> prompts;
  int64_t empty = 0;
  uint32_t number = 0;
  std::istringstream lines(source->text);
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    const auto length = static_cast<uint32_t>(code_points(line).size());
    if (line.empty())
      ++empty;
    else
      prompts.push_back({line, {source, number, 1, length}});
  }
  if (prompts.empty()) throw Error("sample: there are no prompts in " + name, ExitCode::bad_recipe);
  if (empty > 0) log_info("sample: skipped " + pluralize(empty, "empty line") + " of " + name);
  return prompts;
}

std::optional<Prompt> PromptSource::next() {
  if (interactive_) {
    const auto typed = usable_prompt();
    return typed ? std::optional(form_(*typed, true)) : std::nullopt;
  }
  if (next_ == prompts_.size()) return std::nullopt;
  return form_(prompts_[next_++], false);
}

}  // namespace exprun
