#include "control/launch/weights/initial_weights.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/files/atomic_folder.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/files/run_folder.h"
#include "base/log.h"
#include "control/data/fetch/catalogue.h"
#include "control/launch/run/present_folder.h"
#include "control/launch/run/run_words.h"
#include "control/launch/weights/checkpoint_choice.h"
#include "recipe/paths.h"
#include "recipe/toml/write.h"
#include "store/store.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kBest = "@best";

// The folder of the run that the words mean; empty where they mean none. `aloud`: it is said where
// a better one is not here, or where the runs compared differ in their data.
std::string run_meant(const std::string& words, const StoreFolder& folder, bool aloud = false) try {
  if (!path_exists(folder.database())) return "";
  const Store store(folder.database(), Store::Access::read_only);
  if (const auto best = words == kBest ? best_run_here(store, folder) : std::nullopt) {
    if (aloud && (!best->better.empty() || best->datasets > 1)) say_which_is_best(*best);
    return best->run.folder;
  }
  const auto word = word_in_store(store, folder, words);
  return word ? store.find_run(*word).folder : "";
} catch (const Error&) {
  return "";
}

// The command that brings public weights, for a folder of them or its file; else what there may be,
// and where it was looked for.
std::string how_to_get(const std::string& words, const StoreFolder& folder) {
  if (words.find("://") != std::string::npos) return kDownloadFirst;
  for (const fs::path& file : {fs::path(words), fs::path(words) / kModelFile})
    if (const auto command = command_to_get(file.string())) return "get it: " + *command;
  return "it takes a HuggingFace folder, a file of weights, a checkpoint, a run in the store '" +
         folder.shown.string() + "' (exprun ls" + store_option(folder.shown) +
         "), @last or @best; without it, weights are random";
}

std::string help_for(const std::string& words, const StoreFolder& folder) {
  const std::string run = run_meant(words, folder);
  if (run.empty()) return how_to_get(words, folder);
  if (!has_folder(folder, run))
    return "the folder of " + run +
           " is not in this store; if it was deleted, name other weights; if the run was merged "
           "from another store, give the path of a checkpoint there";
  const auto checkpoints = complete_checkpoints(folder.run(run));
  if (checkpoints.empty()) return that_it_has_no_checkpoint(folder, run);
  const fs::path newest = folder.shown / run / "checkpoints" / checkpoints.front().path.filename();
  return "the newest checkpoint of " + run + " is " + newest.string();
}

bool are_weights(const std::string& words) {
  return path_exists(words) && !folder_exists(fs::path(words) / "checkpoints");
}

const std::string* words_of(const ResolvedRecipe& recipe) {
  const Value* const from = recipe.find("model.init_from");
  return from && !from->is_invalid ? from->as<std::string>() : nullptr;
}

// Of a checkpoint; nothing of other weights, or where no lock can be had.
std::optional<FileLock> lock_of(const fs::path& weights) try {
  const auto checkpoint = checkpoint_at(weights);
  if (!checkpoint) return std::nullopt;
  return FileLock::try_share(checkpoint->run.checkpoints() / checkpoint_name(checkpoint->step) /
                             kManifestName);
} catch (const Error&) {
  return std::nullopt;
}

constexpr const char* kChange = "model.init_from=";

bool may_mean_a_run(const std::string& words) {
  return words.find("${") == std::string::npos && !are_weights(words);
}

std::string name_of(const ResolvedRecipe& recipe) {
  return recipe.section("run").get<std::string>("name");
}

// The same line again means the checkpoint that it meant the first time: the run that it began may
// be the newest or the best by now, and the one that it named may have saved others. Paths, by the
// words of the recipes.
std::map<std::string, std::string> meant_before(const std::vector<const ResolvedRecipe*>& recipes,
                                                const StoreFolder& folder) {
  std::map<std::string, std::string> paths;
  try {
    std::set<std::string> names, all_words;
    std::map<std::pair<std::string, std::string>, std::string> words;  // by name and hash
    for (const ResolvedRecipe* recipe : recipes) {
      if (!may_mean_a_run(*words_of(*recipe))) continue;
      names.insert(name_of(*recipe));
      all_words.insert(*words_of(*recipe));
      words[{name_of(*recipe), recipe->hash()}] = *words_of(*recipe);
    }
    if (names.empty()) return paths;
    const Store store(folder.database(), Store::Access::read_only);
    for (const std::string& name : names)
      for (const RunRow& run : store.runs(name)) {
        if (paths.size() == all_words.size()) return paths;
        RecipeText stored = RecipeText::from_json(store.recipe_json(run.id));
        const auto added =
            std::find_if(stored.overrides.rbegin(), stored.overrides.rend(),
                         [](const std::string& change) { return change.starts_with(kChange); });
        if (added == stored.overrides.rend()) continue;
        const ResolvedRecipe began = try_resolve(stored).recipe;
        const auto behind = static_cast<size_t>(added - stored.overrides.rbegin());
        // The one that with_initial_weights() added.
        stored.erase_override(stored.overrides.size() - 1 - behind);
        const auto same = words.find({name, try_resolve(stored).recipe.hash()});
        const std::string* const path = words_of(began);
        if (same != words.end() && path && are_weights(*path))
          paths.try_emplace(same->second, *path);
      }
  } catch (const Error&) {  // without a store, or with a recipe that is not understood
  }
  return paths;
}

// That of the run with this folder which the words mean. Throws Error where it is damaged.
HeldCheckpoint checkpoint_of(const std::string& run, const std::string& words,
                             const StoreFolder& folder) {
  const auto choice = words == kBest ? choice_of_best(folder.run(run)) : CheckpointChoice();
  return chosen_checkpoint(folder, run, choice, {"init_from"});
}

std::optional<HeldWeights> weights_of_run(const std::string& words, const StoreFolder& folder) try {
  const std::string run = run_meant(words, folder, /*aloud=*/true);
  if (run.empty() || complete_checkpoints(folder.run(run)).empty()) return std::nullopt;
  HeldCheckpoint held = checkpoint_of(run, words, folder);
  const fs::path name = held.folder.path.filename();
  // A rerun has changed the working directory.
  std::error_code error;
  const fs::path store = fs::equivalent(folder.shown, folder.path, error)
                             ? folder.shown
                             : folder.path.lexically_proximate(fs::current_path());
  return HeldWeights{(store / run / "checkpoints" / name).string(), std::move(held.reading)};
} catch (const Error&) {  // initial_weights_problems() tells it, at its place
  return std::nullopt;
}

// What is wrong with weights whose manifest lies beside them, as those of checkpoints and exports
// do, wherever they were copied to; nothing of other weights.
std::string damage_at(const fs::path& path) {
  const bool is_folder = folder_exists(path);
  const fs::path folder = is_folder ? path : path.parent_path();
  const std::set<std::string> listed = listed_files(folder);
  std::set<std::string> weights = listed;
  std::erase_if(weights, [&](const std::string& file) {
    if (!is_folder) return file != path.filename();
    return !file.ends_with(".safetensors") || file == kOptimizerFile;
  });
  const bool is_unknown = !listed.empty() || !checkpoint_at(path);
  if (weights.empty() && is_unknown) return "";
  const auto problems = manifest_problems(folder, Verify::hashes, weights);
  return problems.empty() ? "" : problems.front().file + ' ' + problems.front().what;
}

// What is wrong with the checkpoint that init_from means.
Diagnostics damage_of(const std::string& run, const Value& from, const StoreFolder& folder) try {
  checkpoint_of(run, *from.as<std::string>(), folder);
  return {};
} catch (const Error& error) {
  std::string message = error.what();
  message.erase(0, message.find(": ") + 2);
  return {{from.where, std::move(message)}};
}

}  // namespace

bool has_initial_weights(const ResolvedRecipe& recipe) {
  return words_of(recipe) != nullptr;
}

bool may_begin_with_run(const ResolvedRecipe& recipe) {
  const std::string* const words = words_of(recipe);
  return words && !are_weights(*words);
}

WeightsByWords initial_weights_of(const std::vector<const ResolvedRecipe*>& recipes,
                                  const StoreFolder& folder, bool anew) {
  WeightsByWords found;
  const auto before = anew ? std::map<std::string, std::string>() : meant_before(recipes, folder);
  for (const ResolvedRecipe* recipe : recipes) {
    const std::string& words = *words_of(*recipe);
    if (found.contains(words) || words.find("${") != std::string::npos) continue;
    if (are_weights(words)) {
      found.emplace(words, HeldWeights{words, hold_initial_weights(*recipe)});
      continue;
    }
    const auto known = before.find(words);
    auto weights = known == before.end()
                       ? weights_of_run(words, folder)
                       : std::optional(HeldWeights{known->second, lock_of(known->second)});
    if (!weights) continue;
    log_info("init_from: " + words + " is " + weights->path);
    found.emplace(words, std::move(*weights));
  }
  return found;
}

RecipeText with_initial_weights(RecipeText text, const ResolvedRecipe& recipe,
                                const WeightsByWords& weights) {
  const auto found = weights.find(*words_of(recipe));
  if (found == weights.end() || found->second.path == found->first) return text;
  text.find_out(kChange + toml_quoted(found->second.path));
  return text;
}

HeldRecipe with_checkpoint_of_run(RecipeText text, const StoreFolder& folder, bool anew) {
  const auto mentions = [](const std::string& words) {
    return words.find("init_from") != std::string::npos;
  };
  if (std::ranges::none_of(text.overrides, mentions) &&
      std::ranges::none_of(text.files, [&](const auto& file) { return mentions(file->text); }))
    return {std::move(text), {}};
  const Resolution resolution = try_resolve(text);
  if (!resolution.is_valid("run") || !resolution.is_valid("model")) return {std::move(text), {}};
  const ResolvedRecipe& recipe = resolution.recipe;
  if (!has_initial_weights(recipe)) return {std::move(text), {}};
  WeightsByWords weights = initial_weights_of({&recipe}, folder, anew);
  text = with_initial_weights(std::move(text), recipe, weights);
  if (weights.empty()) return {std::move(text), {}};
  return {std::move(text), std::move(weights.begin()->second.lock)};
}

std::optional<FileLock> hold_initial_weights(const ResolvedRecipe& recipe) {
  const std::string* const words = words_of(recipe);
  return words ? lock_of(expand_path(*words, libtorch_folder())) : std::nullopt;
}

Diagnostics initial_weights_problems(const ResolvedRecipe& recipe, const StoreFolder& folder) {
  const Value* const from = recipe.find("model.init_from");
  const auto* const words = from ? from->as<std::string>() : nullptr;
  if (!words) return {};
  const fs::path path = expand_path(*words, libtorch_folder());
  if (!are_weights(*words))
    if (const std::string run = run_meant(*words, folder);
        !run.empty() && !complete_checkpoints(folder.run(run)).empty())
      return damage_of(run, *from, folder);
  if (!path_exists(path))
    return {lack(from->where, "'" + path.string() + "' does not exist", help_for(*words, folder))};
  if (folder_exists(path / "checkpoints"))
    return {{from->where, "'" + path.string() + "' is the folder of a run, not of a checkpoint",
             help_for(*words, folder)}};
  if (const std::string damage = damage_at(path); !damage.empty())
    return {{from->where, "'" + path.string() + "' is damaged: " + damage,
             std::string("bring back a copy of it, or choose other weights") +
                 (checkpoint_at(path) ? "" : "; if you changed it, delete its MANIFEST.json")}};
  return {};
}

}  // namespace exprun
