#include "control/data/prepare.h"

#include "base/log.h"
#include "control/data/prepare_shards.h"
#include "control/data/prepare_text.h"
#include "control/data/sources.h"
#include "control/data/split_sources.h"
#include "control/data/unused_keys.h"
#include "text/data_facts.h"

namespace exprun {
namespace {

const Table& dataset_table(const ResolvedRecipe& recipe) {
  return *recipe.find("dataset")->as<Table>();
}

// Files that evaluations read: HellaSwag's examples.
std::vector<const Value*> evaluation_paths(const ResolvedRecipe& recipe) {
  std::vector<const Value*> paths;
  const Value* evaluation = recipe.find("evaluation");
  const Table* table = evaluation ? evaluation->as<Table>() : nullptr;
  if (!table) return paths;
  for (const std::string& name : table->keys())
    if (const Value* path = recipe.find("evaluation." + name + ".path")) paths.push_back(path);
  return paths;
}

// Throws RecipeError for sources that are missing.
Diagnostics doubts_of_sources(const ResolvedRecipe& recipe, const std::string& libtorch) {
  const bool text = recipe.section("dataset").type() == "text";
  const Value* validation = recipe.find("dataset.validation");
  if (!validation && !(text && may_have_unused_keys(dataset_table(recipe)))) return {};
  const Value* train = recipe.find(text ? "dataset.path" : "dataset.train");
  const SplitSources sources = find_split_sources(*train, validation, libtorch);
  Diagnostics warnings = trained_validation(sources);
  if (!text) return warnings;
  for (Diagnostic& unused : unused_keys(dataset_table(recipe), sources))
    warnings.push_back(std::move(unused));
  return warnings;
}

template <class Look>
void collect(Diagnostics& problems, Look look) try {
  look();
} catch (const RecipeError& error) {
  problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
}

}  // namespace

void warn_of_sources(const ResolvedRecipe& recipe, const std::string& libtorch) {
  for (const Diagnostic& warning : doubts_of_sources(recipe, libtorch))
    log_warning("data: " + warning.message + ": " + warning.help);
}

PreparedData prepare_data(const ResolvedRecipe& recipe, const std::filesystem::path& data_folder,
                          const std::string& libtorch) {
  warn_of_sources(recipe, libtorch);
  const Section dataset = recipe.section("dataset");
  if (dataset.type() != "text") return prepare_shards(recipe, libtorch);
  require_utf8_path(std::filesystem::absolute(data_folder).string());  // before the work
  PrepareOptions options;
  options.libtorch = libtorch;
  return prepare_text(dataset, dataset_table(recipe), data_folder, options);
}

DataGlance glance_at_data(const ResolvedRecipe& recipe, const std::filesystem::path& data_folder,
                          const std::string& libtorch) {
  DataGlance glance;
  collect(glance.problems, [&] {
    const Section dataset = recipe.section("dataset");
    glance.facts = dataset.type() == "text"
                       ? glance_at_text(dataset, dataset_table(recipe), data_folder, libtorch)
                       : facts_of(find_shards(recipe, libtorch));
    glance.problems = doubts_of_sources(recipe, libtorch);
  });
  return glance;
}

Diagnostics evaluation_file_problems(const ResolvedRecipe& recipe, const std::string& libtorch) {
  Diagnostics problems;
  for (const Value* path : evaluation_paths(recipe))
    collect(problems, [&] { find_file(*path, libtorch); });
  return problems;
}

}  // namespace exprun
