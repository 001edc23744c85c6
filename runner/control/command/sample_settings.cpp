#include "control/command/sample_settings.h"

#include <algorithm>

#include "base/suggest.h"
#include "base/word_list.h"
#include "control/command/recipe_words.h"
#include "recipe/key_lookup.h"
#include "recipe/resolved.h"

namespace exprun {
namespace {

const std::string kPrefix = std::string(kSampleTable) + '.';

Words names_of_keys(const SchemaSet& schemas, const Table& root) {
  Words names;
  for (const std::string& path : declared_paths(schemas, root))
    if (path.starts_with(kPrefix)) names.push_back(path.substr(kPrefix.size()));
  return names;
}

// Without the table's name before the key.
SourceSpan in_setting(const SourceSpan& where, size_t number, const std::string& setting) {
  SourceSpan typed = where;
  typed.file = override_file(number, setting);
  if (where.line > 1) return typed;
  const auto sign = static_cast<uint32_t>(sign_of(setting).size());
  const auto prefix = static_cast<uint32_t>(kPrefix.size());
  const auto moved = [&](uint32_t column) {
    return column <= sign + 1 ? column : std::max(sign + 1, column - std::min(column, prefix));
  };
  typed.column = moved(where.column);
  typed.length = std::max(moved(where.column + where.length) - typed.column, 1U);
  return typed;
}

}  // namespace

void require_sample_keys(const RecipeText& text, const Words& settings) {
  const Judgement judgement = judge(text);
  const SchemaSet& schemas = judgement.recipe.schemas();
  const Words names = names_of_keys(schemas, judgement.recipe.root());
  Diagnostics unknown;
  for (size_t i = 0; i < settings.size(); ++i) {
    const size_t sign = sign_of(settings[i]).size();
    const std::string key = settings[i].substr(sign, settings[i].find('=') - sign);
    if (schema_at(schemas, judgement.recipe.root(), kPrefix + key) != nullptr) continue;
    const auto near = nearest(key, names);
    unknown.push_back({span_of(override_file(i + 1, settings[i]), sign, key.size()),
                       "unknown key '" + key + "' of a sample",
                       near ? "did you mean '" + *near + "'?" : "it has " + listed(names)});
  }
  if (!unknown.empty()) throw RecipeError(std::move(unknown));
}

Diagnostics judged_as_typed(const RecipeText& text, const Words& settings) {
  Diagnostics diagnostics = judge(text).diagnostics;
  const size_t before = text.overrides.size() - settings.size();
  for (Diagnostic& diagnostic : diagnostics)
    for (size_t i = 0; diagnostic.where && i < settings.size(); ++i) {
      if (diagnostic.where.file->name != override_file(before + i + 1, "")->name) continue;
      diagnostic.where = in_setting(diagnostic.where, i + 1, settings[i]);
      break;
    }
  return diagnostics;
}

}  // namespace exprun
