#include "control/launch/run/run_tags.h"

#include <algorithm>

#include "base/log.h"
#include "recipe/recipe_text.h"

namespace exprun {
namespace {

using Tags = std::vector<std::string>;

Tags tags_of(const ResolvedRecipe& recipe) {
  return recipe.section("run").get<Tags>("tags");
}

void erase_all(Tags& tags, const Tags& known) {
  std::erase_if(tags, [&](const std::string& tag) { return std::ranges::count(known, tag) > 0; });
}

}  // namespace

std::vector<std::string> add_new_tags(Store& store, const RunRow& run, const ResolvedRecipe& now) {
  Tags added = tags_of(now);
  if (added.empty()) return added;
  erase_all(added, store.tags(run.id));
  if (added.empty()) return added;
  erase_all(added, tags_of(try_resolve(RecipeText::from_json(store.recipe_json(run.id))).recipe));
  for (const std::string& tag : added) store.add_tag(run.id, tag);
  return added;
}

void add_new_tags_aloud(Store& store, const RunRow& run, const ResolvedRecipe& now) {
  for (const std::string& tag : add_new_tags(store, run, now))
    log_info("added the tag " + tag + " to " + run.folder);
}

}  // namespace exprun
