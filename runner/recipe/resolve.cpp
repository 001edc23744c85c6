#include "recipe/complete.h"
#include "recipe/extended.h"
#include "recipe/identity.h"
#include "recipe/overrides.h"
#include "recipe/resolved.h"
#include "recipe/rules/checks.h"
#include "recipe/tolerance.h"
#include "recipe/validate/validate.h"

namespace exprun {
namespace {

Judgement judged(const RecipeText& text, Extended extended, const Facts& facts,
                 const SchemaSet& schemas, const Tolerance& tolerance) {
  const std::string file = text.files.front()->name;
  Diagnostics diagnostics = std::move(extended.diagnostics);
  Table& root = extended.root;
  std::vector<std::string> overrides = apply_overrides(schemas, root, text, diagnostics, tolerance);
  validate(schemas, root, diagnostics, tolerance);
  check_no_sweep(root, file, diagnostics);
  complete(schemas, root, facts, file);
  check_rules(schemas, root, facts, diagnostics);
  tolerance.apply(diagnostics, 0);
  add_chains(text, extended, diagnostics);
  std::string hash = hash_of(schemas, root, file);
  return {ResolvedRecipe(std::move(root), std::move(hash), std::move(overrides), schemas),
          first_of(std::move(diagnostics))};
}

}  // namespace

struct Judge::Known {
  RecipeText text;
  const SchemaSet& schemas;
  Extended extended;
  std::optional<std::pair<Facts, Tolerance>> of_changes;  // to a stored recipe

  const Tolerance& tolerance(const Facts& facts) {
    if (of_changes && of_changes->first == facts) return of_changes->second;
    RecipeText before = text;
    before.overrides = *text.begun_with;
    const Judgement old = judged(before, extended, facts, schemas, Tolerance::of_all());
    of_changes.emplace(facts, Tolerance::of_what_was(old.diagnostics));
    return of_changes->second;
  }
};

Judge::Judge(RecipeText text, const SchemaSet& schemas) {
  Extended extended = extend_files(text, schemas);
  known_ =
      std::make_unique<Known>(Known{std::move(text), schemas, std::move(extended), std::nullopt});
}

Judge::~Judge() = default;

Judgement Judge::operator()(const std::vector<std::string>& overrides, const Facts& facts) {
  RecipeText& text = known_->text;
  text.overrides = overrides;
  Tolerance tolerance;
  if (text.begun_with)
    tolerance = overrides == *text.begun_with ? Tolerance::of_all() : known_->tolerance(facts);
  return judged(text, known_->extended, facts, known_->schemas, tolerance);
}

Judgement judge(const RecipeText& text, const Facts& facts, const SchemaSet& schemas) {
  return Judge(text, schemas)(text.overrides, facts);
}

ResolvedRecipe resolve(const RecipeText& text, const Facts& facts, const SchemaSet& schemas) {
  Judgement judgement = judge(text, facts, schemas);
  if (has_errors(judgement.diagnostics)) throw RecipeError(std::move(judgement.diagnostics));
  return std::move(judgement.recipe).with_warnings(std::move(judgement.diagnostics));
}

}  // namespace exprun
