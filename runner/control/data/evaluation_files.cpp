#include "control/data/evaluation_files.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files/file.h"
#include "base/utf8.h"
#include "control/data/sources.h"
#include "recipe/quantities.h"
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

void require_readable_examples(const Value& path, const fs::path& file, const ChoiceFile& kind,
                               std::optional<int64_t> limit, const KnownCharacters& characters) {
  if (!limit && fs::file_size(file) > kLargest) return;
  for (const ChoiceExample& example :
       read_choice_examples(kind, file, *path.as<std::string>(), limit)) {
    characters.require(example.context, path);
    for (const std::string& ending : example.endings) characters.require(ending, path);
  }
}

// As the evaluation `name` would. Throws RecipeError.
void look_at(const ResolvedRecipe& recipe, const std::string& name, const Value& path,
             const KnownCharacters& characters, const std::string& libtorch) try {
  const std::string table = "evaluation." + name;
  const std::string type = text_at(recipe.root(), table + ".type").value_or(name);
  const auto limit = integer_at(recipe.root(), table + ".examples");
  const fs::path file = find_file(path, libtorch);
  if (type == "perplexity") require_readable_text(path, file, characters);
  if (type == "hellaswag")
    require_readable_examples(path, file, hellaswag_file(), limit, characters);
  if (type == "completion")
    require_readable_examples(path, file, completion_file(file), limit, characters);
} catch (const ChoiceFileError& error) {
  throw RecipeError(path.where, error.what(), error.help);
}

}  // namespace

Diagnostics evaluation_file_problems(const ResolvedRecipe& recipe, const DatasetInfo& dataset_info,
                                     const std::string& libtorch) {
  Diagnostics problems;
  const Value* const evaluation = recipe.find("evaluation");
  const Table* const table = evaluation ? evaluation->as<Table>() : nullptr;
  if (!table) return problems;
  const KnownCharacters characters(dataset_info.characters);
  for (const std::string& name : table->keys()) {
    const Value* const path = recipe.find("evaluation." + name + ".path");
    if (!path) continue;
    collect_problems(problems, *path, [&] { look_at(recipe, name, *path, characters, libtorch); });
  }
  return problems;
}

}  // namespace exprun
