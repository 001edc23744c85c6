#include "control/launch/run/run_words.h"

#include <algorithm>
#include <system_error>

#include "base/diagnostic.h"
#include "recipe/defaults/auto_values.h"
#include "recipe/recipe_text.h"
#include "recipe/schema/schema.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> folder_at(const fs::path& path, const Store& store,
                                     const StoreFolder& folder, Store::Among among) {
  std::error_code ignored;
  const fs::path file = fs::absolute(path, ignored);
  if (fs::weakly_canonical(file.parent_path(), ignored) !=
      fs::weakly_canonical(folder.path, ignored))
    return std::nullopt;
  const std::string name = file.filename();
  const std::vector<RunRow> runs = runs_among(store, among);
  const bool is_run =
      std::ranges::any_of(runs, [&](const auto& run) { return run.folder == name; });
  return is_run ? std::optional(name) : std::nullopt;
}

bool was_begun_with(const Store& store, const RunRow& run, const std::string& stem) try {
  return recipe_file_of(store, run).stem() == stem;
} catch (const Error&) {  // another version's
  return false;
}

}  // namespace

std::vector<RunRow> runs_among(const Store& store, Store::Among among) {
  return among == Store::Among::kept ? store.runs() : store.removed_runs();
}

std::optional<std::string> word_in_store(const Store& store, const StoreFolder& folder,
                                         const std::string& words, Store::Among among) {
  if (words.find('/') != std::string::npos)
    return folder_at(words.substr(0, words.find_last_not_of('/') + 1), store, folder, among);
  const std::string name = name_of_runs(SchemaSet::embedded(), words);
  if (name == words || words.starts_with('@')) return words;
  const std::vector<RunRow> runs = runs_among(store, among);
  const bool is_file = std::ranges::any_of(runs, [&](const RunRow& run) {
    return run.name == name && was_begun_with(store, run, words);
  });
  return is_file ? name : words;
}

fs::path recipe_file_of(const Store& store, const RunRow& run) {
  const RecipeText recipe = RecipeText::from_json(store.recipe_json(run.id));
  std::error_code ignored;
  return fs::weakly_canonical(fs::path(run.working_directory) / recipe.files.front()->name,
                              ignored);
}

}  // namespace exprun
