#include "control/command/sample_mistakes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "base/suggest.h"
#include "control/command/line/recipe_words.h"
#include "recipe/key_path.h"
#include "recipe/resolved.h"
#include "recipe/rules/rules.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/schema/key_synonyms.h"

namespace exprun {
namespace {

Words names_of_keys(const SchemaSet& schemas, const Table& root) {
  Words names;
  for (const std::string& path : declared_paths(schemas, root))
    if (path.starts_with(kSamplePrefix)) names.push_back(path.substr(kSamplePrefix.size()));
  return names;
}

// Without the table's name before the key.
SourceSpan in_setting(const SourceSpan& where, size_t number, const std::string& setting) {
  SourceSpan typed = where;
  typed.file = override_file(number, setting);
  if (where.line > 1) return typed;
  const auto sign = static_cast<uint32_t>(sign_of(setting).size());
  const auto prefix = static_cast<uint32_t>(kSamplePrefix.size());
  const auto moved = [&](uint32_t column) {
    return column <= sign + 1 ? column : std::max(sign + 1, column - std::min(column, prefix));
  };
  typed.column = moved(where.column);
  typed.length = std::max(moved(where.column + where.length) - typed.column, 1U);
  return typed;
}

// Throws RecipeError for keys that the table of `text`, a recipe with it, has not: those that are
// near in other tables are no help.
void require_sample_keys(const RecipeText& text, const Words& settings) {
  const Resolution resolution = try_resolve(text);
  const SchemaSet& schemas = resolution.recipe.schemas();
  const Words names = names_of_keys(schemas, resolution.recipe.root());
  Diagnostics unknown;
  for (size_t i = 0; i < settings.size(); ++i) {
    const size_t sign = sign_of(settings[i]).size();
    const std::string key = settings[i].substr(sign, settings[i].find('=') - sign);
    if (schema_at(schemas, resolution.recipe.root(), kSamplePrefix + key) != nullptr) continue;
    const KeySynonym* synonym = key_synonym(key);
    const auto near = synonym && std::string_view(synonym->path).starts_with(kSamplePrefix)
                          ? std::optional(last_part(synonym->path))
                          : nearest(key, names);
    unknown.push_back({span_of(override_file(i + 1, settings[i]), sign, key.size()),
                       "unknown sampling key '" + key + "'",
                       near ? "did you mean '" + *near + "'?" : "its keys are " + listed(names)});
  }
  if (!unknown.empty()) throw RecipeError(std::move(unknown));
}

// A place in an override is one in what was typed for it.
SourceSpan as_typed(const SourceSpan& where, const TypedSample& typed) {
  for (size_t i = 0; i < typed.settings.size(); ++i)
    if (where.file->name == override_file(i + 1, "")->name)
      return in_setting(where, i + 1, typed.settings[i]);
  const bool is_typed = where.file->kind == SourceFile::Kind::typed_override;
  if (!typed.prompts.empty() && !is_typed && where.file->text.starts_with(kAsPrompt))
    return typed.prompts.front().where;
  return where;
}

// Of those after the first, which is judged as the recipe's prompt.
Diagnostics problems_of_further_prompts(const DatasetInfo& facts, const TypedSample& typed) {
  Diagnostics problems;
  for (size_t i = 1; i < typed.prompts.size(); ++i) {
    const auto& [text, where] = typed.prompts[i];
    auto problem = unwritable_prompt(facts, "prompt", typed.form(text, false).given);
    if (!problem) continue;
    problem->where = where;
    problems.push_back(std::move(*problem));
  }
  return problems;
}

// What is wrong with `text`: at the places of what was typed. A template and its system message are
// part of each prompt: where one is wrong, they are not judged.
Diagnostics judged_as_typed(const RecipeText& text, const DatasetInfo& facts,
                            const TypedSample& typed) {
  const Resolution resolution = try_resolve(text, facts);
  if (auto problem = unwritable_prompt(facts, "system message", typed.form.system())) {
    problem->where = as_typed(place_of(resolution.recipe.root(), kSystem), typed);
    return {std::move(*problem)};
  }
  if (auto problem = unwritable_prompt(facts, "template", typed.form("", false).given)) {
    problem->where = as_typed(place_of(resolution.recipe.root(), "dataset.template"), typed);
    return {std::move(*problem)};
  }
  Diagnostics diagnostics = resolution.diagnostics;
  std::erase_if(diagnostics, [](const Diagnostic& one) { return one.severity != Severity::error; });
  for (Diagnostic& diagnostic : diagnostics)
    if (diagnostic.where) diagnostic.where = as_typed(diagnostic.where, typed);
  for (Diagnostic& problem : problems_of_further_prompts(facts, typed))
    diagnostics.push_back(std::move(problem));
  return diagnostics;
}

}  // namespace

void refuse_unusable_prompts(const TypedSample& typed) {
  Diagnostics problems;
  for (const auto& [text, where] : typed.prompts) {
    if (typed.form(text, false).given.empty())
      problems.push_back(
          {where, "a prompt is empty", "the shortest is a line break: --prompt $'\\n'"});
    else if (text == "\\n" && where.file->name == "--prompt")
      problems.push_back({where, "the prompt is two characters, a backslash and an n",
                          "a line break is --prompt $'\\n'"});
    else if (std::string problem = problem_of_prompt(text); !problem.empty())
      problems.push_back({where, std::move(problem)});
  }
  if (!problems.empty()) throw RecipeError(first_of(std::move(problems)));
}

void refuse_mistakes(const RecipeText& text, const DatasetInfo& facts, const TypedSample& typed) {
  RecipeText before = text;
  before.overrides.resize(text.overrides.size() - typed.settings.size());
  require_sample_keys(before, typed.settings);
  Diagnostics said = judged_as_typed(text, facts, typed);
  if (has_errors(said)) throw RecipeError(first_of(std::move(said)));
}

}  // namespace exprun
