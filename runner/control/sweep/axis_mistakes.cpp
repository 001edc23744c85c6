#include "control/sweep/axis_mistakes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "recipe/key_path.h"
#include "recipe/schema/key_lookup.h"

namespace exprun {
namespace {

std::vector<std::string> differing_keys(const ResolvedRecipe& a, const ResolvedRecipe& b) {
  const auto leaves = a.leaves(false);
  const std::set<std::pair<std::string, std::string>> all(leaves.begin(), leaves.end());
  std::vector<std::string> keys;
  for (const auto& leaf : b.leaves(false))
    if (!all.contains(leaf)) keys.push_back(leaf.first);
  return keys;
}

Diagnostic other_unit(const SweepChange& change, const SweepChange& before) {
  const std::string key = key_of(change.override), known = key_of(before.override);
  return {change.key, "'" + key + "' says the same as '" + known + "' in another unit",
          "give one of them"};
}

Diagnostic same_key(const SweepChange& change, const SweepChange& before) {
  const std::string key = key_of(change.override);
  const std::string known = key_of(before.override);
  return {change.key, "'" + key + "' is given twice",
          key == known ? "give all its values together: " + key + "=a,b"
                       : "'" + known + "' is the same key; give all its values there"};
}

}  // namespace

Diagnostics given_twice(const SweepPoint& point, const ResolvedRecipe& recipe) {
  const std::vector<std::string>& whole = recipe.overrides();
  const size_t first = whole.size() - point.size();
  Diagnostics diagnostics;
  std::map<std::string, const SweepChange*> known;
  for (size_t i = 0; i < point.size(); ++i) {
    const std::string path = key_of(whole[first + i]);
    const auto other = known.find(alternative_to(recipe.schemas(), recipe.root(), path));
    const bool is_reset = whole[first + i].starts_with('~');
    if (other != known.end() && !is_reset && !other->second->override.starts_with('~'))
      diagnostics.push_back(other_unit(point[i], *other->second));
    const auto [before, is_new] = known.try_emplace(path, &point[i]);
    if (!is_new) diagnostics.push_back(same_key(point[i], *before->second));
  }
  return diagnostics;
}

Diagnostics one_run_of(const SweepPoint& point, const ResolvedRecipe& first,
                       const ResolvedRecipe& recipe) {
  const std::vector<std::string> keys = differing_keys(first, recipe);
  Diagnostics diagnostics;
  for (const SweepChange& change : point) {
    const std::string key = key_of(change.override);
    const std::string value = change.override.substr(change.override.find('=') + 1);
    if (std::any_of(keys.begin(), keys.end(), [&](auto& one) { return may_be_same_key(one, key); }))
      diagnostics.push_back(
          {change.key, "'" + key + "' cannot be swept: all its values give the same trial",
           "start a run for each value: exprun RECIPE --new " + shell_quoted(key + "=" + value)});
  }
  return diagnostics;
}

Diagnostics at_axes(Diagnostics diagnostics, const SweepPoint& point, const RecipeText& text) {
  const size_t first = text.first_found_out() - point.size();
  for (Diagnostic& diagnostic : diagnostics)
    for (size_t i = 0; diagnostic.where && i < point.size(); ++i) {
      const SweepChange& change = point[i];
      if (diagnostic.where.file->name != text.override_source(first + i)->name) continue;
      const bool at_value = diagnostic.where.column > change.override.find('=') + 1;
      diagnostic.where = at_value ? change.value : change.key;
      break;
    }
  return diagnostics;
}

Said said(const Diagnostic& diagnostic) {
  const SourceSpan& where = diagnostic.where;
  return {where ? where.file->name : "", where.line, where.column, diagnostic.message};
}

}  // namespace exprun
