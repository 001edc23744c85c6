#include "control/data/prepare.h"

#include "control/data/prepare_shards.h"
#include "control/data/prepare_text.h"

namespace exprun {
namespace {

const Table& dataset_table(const ResolvedRecipe& recipe) {
  return *recipe.find("dataset")->as<Table>();
}

}  // namespace

PreparedData prepare_data(const ResolvedRecipe& recipe, const std::filesystem::path& data_folder,
                          const std::string& libtorch) {
  const Section dataset = recipe.section("dataset");
  if (dataset.type() != "text") return prepare_shards(recipe, libtorch);
  PrepareOptions options;
  options.libtorch = libtorch;
  return prepare_text(dataset, dataset_table(recipe), data_folder, options);
}

Diagnostics data_problems(const ResolvedRecipe& recipe, const std::string& libtorch) try {
  const Section dataset = recipe.section("dataset");
  if (dataset.type() == "text")
    check_text(dataset, dataset_table(recipe), libtorch);
  else
    find_shards(recipe, libtorch);
  return {};
} catch (const RecipeError& error) {
  return error.diagnostics();
}

}  // namespace exprun
