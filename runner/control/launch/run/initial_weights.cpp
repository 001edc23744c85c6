#include "control/launch/run/initial_weights.h"

#include "base/files/run_folder.h"
#include "recipe/paths.h"
#include "store/store.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// The folder of the run that the words mean; empty where they mean none.
std::string run_meant(const std::string& words, const StoreFolder& folder) try {
  std::error_code ignored;
  if (!fs::exists(folder.database(), ignored)) return "";
  const fs::path path = words.substr(0, words.find_last_not_of('/') + 1);
  return Store(folder.database(), Store::Access::read_only).find_run(path.filename()).folder;
} catch (const Error&) {
  return "";
}

std::string help_for(const std::string& words, const StoreFolder& folder) {
  const std::string run = run_meant(words, folder);
  if (run.empty()) return "";
  const auto checkpoints = complete_checkpoints(folder.run(run));
  if (checkpoints.empty()) return run + " has no checkpoint";
  const fs::path newest = folder.shown / run / "checkpoints" / checkpoints.front().path.filename();
  return "the newest checkpoint of " + run + " is " + newest.string();
}

}  // namespace

Diagnostics initial_weights_problems(const ResolvedRecipe& recipe, const StoreFolder& folder) {
  const Value* const from = recipe.find("model.init_from");
  const auto* const words = from ? from->as<std::string>() : nullptr;
  if (!words) return {};
  const fs::path path = expand_path(*words, libtorch_folder());
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    return {{from->where, "'" + path.string() + "' does not exist", help_for(*words, folder)}};
  if (fs::is_directory(path / "checkpoints", ignored))
    return {{from->where, "'" + path.string() + "' is the folder of a run, not of a checkpoint",
             help_for(*words, folder)}};
  return {};
}

}  // namespace exprun
