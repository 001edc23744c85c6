#include "control/data/prepare.h"

#include "control/data/corpus.h"
#include "control/data/prepare_shards.h"
#include "control/data/prepare_text.h"

namespace exprun {

PreparedData prepare_data(const ResolvedRecipe& recipe, const std::filesystem::path& data_folder,
                          const std::string& libtorch) {
  return recipe.section("dataset").type() == "text" ? prepare_text(recipe, data_folder, libtorch)
                                                    : prepare_shards(recipe, libtorch);
}

Diagnostics data_problems(const ResolvedRecipe& recipe, const std::string& libtorch) try {
  if (recipe.section("dataset").type() == "text")
    find_text(recipe, libtorch);
  else
    find_shards(recipe, libtorch);
  return {};
} catch (const RecipeError& error) {
  return error.diagnostics();
}

}  // namespace exprun
