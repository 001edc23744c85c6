// Files of examples that ask a model which of some endings follows a text, and how each is read:
// HellaSwag (Zellers et al. 2019), ARC, PIQA and LAMBADA. The contexts are those of EleutherAI's
// lm-evaluation-harness.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace exprun {

struct ChoiceExample {
  std::string context;
  std::vector<std::string> endings;  // with the space before them, if there is one
  size_t label = 0;                  // which is right
};

// A kind of file: JSON Lines with an example each.
struct ChoiceFile {
  std::string title;   // "HellaSwag"
  std::string form;    // "HellaSwag has one JSON object per line, with ctx, endings and label"
  std::string remedy;  // how to get one: "run `exprun data fetch hellaswag` to download it"
  // Throws Error ("has no label") or an exception of nlohmann-json for a record that is no example.
  // `number`: of the line, from 1.
  std::function<ChoiceExample(const nlohmann::json& record, int64_t number)> parse;
};

// With ctx, endings and label.
ChoiceFile hellaswag_file();

// Of any of these data sets, told apart by the names in the records, or of one's own: context,
// endings and label. PIQA's labels lie beside `file`.
ChoiceFile completion_file(std::filesystem::path file);

// What is wrong with such a file, and what helps.
class ChoiceFileError : public Error {
 public:
  ChoiceFileError(const std::string& message, std::string help)
      : Error(message), help(std::move(help)) {}

  std::string help;
};

// The examples of `file`, the first `limit` if there is one. `shown`: what the user calls it.
// Throws ChoiceFileError: it is not there, a line is no example, there is none.
std::vector<ChoiceExample> read_choice_examples(const ChoiceFile& kind,
                                                const std::filesystem::path& file,
                                                const std::string& shown,
                                                std::optional<int64_t> limit);

}  // namespace exprun
