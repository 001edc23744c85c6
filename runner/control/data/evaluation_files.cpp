#include "control/data/evaluation_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/file.h"
#include "base/utf8.h"
#include "control/data/sources/sources.h"
#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"
#include "recipe/value.h"
#include "text/char_tokenizer.h"
#include "text/choice_examples.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kLargest = uintmax_t{16} << 20;

// The characters that a tokenizer knows, or all of them.
class KnownCharacters {
 public:
  explicit KnownCharacters(const std::optional<std::u32string>& characters) {
    if (!characters) return;
    count_ = characters->size();
    known_.resize(kCodePoints);
    for (const char32_t character : *characters) known_[character] = true;
  }

  bool are_all() const { return known_.empty(); }

  // Throws RecipeError at `path`. What is not UTF-8 the evaluation tells.
  void require(std::string_view text, const Value& path) const {
    while (!are_all() && !text.empty()) {
      const CodePoint character = first_code_point(text);
      if (!character.valid) return;
      if (!known_[character.value])
        throw RecipeError(path.where, unknown_character(character.value, count_),
                          kHelpWithUnknownCharacter);
      text.remove_prefix(character.bytes.size());
    }
  }

 private:
  std::vector<bool> known_;
  size_t count_ = 0;
};

void require_readable_text(const Value& path, const fs::path& file,
                           const KnownCharacters& characters) {
  const uintmax_t bytes = fs::file_size(file);
  if (bytes == 0)
    throw RecipeError(path.where, "'" + *path.as<std::string>() + "' has no text to evaluate");
  if (!characters.are_all() && bytes <= kLargest) characters.require(read_file(file), path);
}

// The kind of file that an evaluation of this type reads; nothing of one that reads no examples.
std::optional<ChoiceFile> kind_of_examples(const std::string& type, const fs::path& file) {
  if (type == "hellaswag") return hellaswag_file();
  if (type == "completion") return completion_file(file);
  return std::nullopt;
}

// An evaluation that reads a file.
struct FileEvaluation {
  std::string table, type;
  const Value& path;
  fs::path file;
  std::optional<int64_t> limit;  // of examples

  bool is_large() const { return !limit && fs::file_size(file) > kLargest; }

  // None of an evaluation of another type. Throws ChoiceFileError.
  std::vector<ChoiceExample> examples() const {
    const auto kind = kind_of_examples(type, file);
    if (!kind) return {};
    return read_choice_examples(*kind, file, *path.as<std::string>(), limit);
  }
};

// Of each evaluation that has a path; what it throws is told at its place.
template <typename Look>
Diagnostics look_at_each(const ResolvedRecipe& recipe, const std::string& libtorch, Look look) {
  Diagnostics problems;
  for (const std::string& table : evaluation_tables(recipe.root())) {
    const Value* const path = recipe.find(join_path(table, "path"));
    if (!path) continue;
    collect_problems(problems, *path, [&] {
      try {
        look(FileEvaluation{
            table, text_at(recipe.root(), join_path(table, "type")).value_or(last_part(table)),
            *path, find_file(*path, libtorch),
            integer_at(recipe.root(), join_path(table, "examples"))});
      } catch (const ChoiceFileError& error) {
        throw RecipeError(path->where, error.what(), error.help);
      }
    });
  }
  return problems;
}

void require_readable_examples(const FileEvaluation& evaluation,
                               const KnownCharacters& characters) {
  if (evaluation.is_large()) return;
  for (const ChoiceExample& example : evaluation.examples()) {
    characters.require(example.context, evaluation.path);
    for (const std::string& ending : example.endings) characters.require(ending, evaluation.path);
  }
}

// Of a text in the tokenizer of the data, as far as its type tells.
int64_t likely_tokens(const ResolvedRecipe& recipe, uintmax_t bytes) {
  constexpr uintmax_t kBytesOfSubword = 4;
  const auto tokenizer = text_at(recipe.root(), "dataset.tokenizer");
  const bool is_fine = tokenizer == "byte" || tokenizer == "char";
  return static_cast<int64_t>(is_fine ? bytes : bytes / kBytesOfSubword);
}

// "a shorter text", beside a longer interval where it is made more often than at both ends.
std::string remedy_beside(const std::string& other, int64_t times) {
  return times > 2 ? "a longer interval in 'every', or " + other + ", takes less of the run's time"
                   : other + " takes less of the run's time";
}

EvaluationCost cost_of_text(const ResolvedRecipe& recipe, const FileEvaluation& evaluation) {
  const auto context = integer_at(recipe.root(), "model.context_length");
  const auto stride = integer_at(recipe.root(), join_path(evaluation.table, "stride"));
  const double windows =
      context && stride ? static_cast<double>(*context) / static_cast<double>(*stride) : 1;
  const auto tokens = static_cast<double>(likely_tokens(recipe, fs::file_size(evaluation.file))) *
                      std::max(1.0, windows);
  return {evaluation.table, "path", static_cast<int64_t>(tokens), false,
          [](int64_t, int64_t times) { return remedy_beside("a shorter text", times); }};
}

EvaluationCost cost_of_examples(const ResolvedRecipe& recipe, const FileEvaluation& evaluation) {
  constexpr double kFewest = 10;  // the result of fewer says nothing
  uintmax_t bytes = 0;
  const std::vector<ChoiceExample> examples = evaluation.examples();
  for (const ChoiceExample& example : examples)
    for (const std::string& ending : example.endings)
      bytes += example.context.size() + ending.size();
  const int64_t tokens = likely_tokens(recipe, bytes);
  const std::string key = join_path(evaluation.table, "examples");
  const auto remedy = [key, tokens, count = std::ssize(examples)](int64_t modest, int64_t times) {
    const auto few =
        static_cast<double>(modest) / static_cast<double>(tokens) * static_cast<double>(count);
    return few < kFewest ? remedy_beside("a smaller number of 'examples'", times)
                         : key + "=" + std::to_string(static_cast<int64_t>(few)) +
                               " takes little of the run's time";
  };
  return {evaluation.table, "examples", tokens, false, remedy};
}

}  // namespace

Diagnostics evaluation_file_problems(const ResolvedRecipe& recipe, const DatasetInfo& dataset_info,
                                     const std::string& libtorch) {
  const KnownCharacters characters(dataset_info.characters);
  return look_at_each(recipe, libtorch, [&](const FileEvaluation& evaluation) {
    if (evaluation.type == "perplexity")
      require_readable_text(evaluation.path, evaluation.file, characters);
    else
      require_readable_examples(evaluation, characters);
  });
}

Diagnostics long_evaluations_of_files(const ResolvedRecipe& recipe, const DatasetInfo& dataset_info,
                                      const std::string& libtorch) {
  Diagnostics found;
  const RuleInput input{recipe.schemas(), recipe.root(), dataset_info};
  look_at_each(recipe, libtorch, [&](const FileEvaluation& evaluation) {
    if (evaluation.is_large()) return;
    const EvaluationCost cost = evaluation.type == "perplexity"
                                    ? cost_of_text(recipe, evaluation)
                                    : cost_of_examples(recipe, evaluation);
    const auto is_noticeable = [](double tokens) { return tokens >= kNoticeableTokens; };
    if (auto long_one = long_evaluation(input, cost, is_noticeable))
      found.push_back(std::move(*long_one));
  });
  return found;
}

}  // namespace exprun
