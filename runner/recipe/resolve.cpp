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

Judgement judged(const RecipeText& text, const Facts& facts, const SchemaSet& schemas,
                 const Tolerance& tolerance) {
  const std::string file = text.files.front()->name;
  Diagnostics diagnostics;
  Extended extended = extend_files(text, schemas, diagnostics);
  Table& root = extended.root;
  apply_overrides(schemas, root, text, diagnostics, tolerance);
  validate(schemas, root, diagnostics, tolerance);
  check_no_sweep(root, file, diagnostics);
  complete(schemas, root, facts, file);
  check_rules(schemas, root, facts, diagnostics);
  tolerance.apply(diagnostics, 0);
  add_chains(text, extended, diagnostics);
  std::string hash = hash_of(leaves_of(schemas, root, file));
  return {ResolvedRecipe(std::move(root), std::move(hash), schemas),
          first_of(std::move(diagnostics))};
}

Tolerance tolerance_for(const RecipeText& text, const Facts& facts, const SchemaSet& schemas) {
  if (text.begun_with == nullptr) return {};
  if (text.overrides == text.begun_with->overrides) return Tolerance::of_all();
  const Judgement old = judged(*text.begun_with, facts, schemas, Tolerance::of_all());
  return Tolerance::of_what_was(old.diagnostics);
}

}  // namespace

Judgement judge(const RecipeText& text, const Facts& facts, const SchemaSet& schemas) {
  return judged(text, facts, schemas, tolerance_for(text, facts, schemas));
}

ResolvedRecipe resolve(const RecipeText& text, const Facts& facts, const SchemaSet& schemas) {
  Judgement judgement = judge(text, facts, schemas);
  if (has_errors(judgement.diagnostics)) throw RecipeError(std::move(judgement.diagnostics));
  return std::move(judgement.recipe).with_warnings(std::move(judgement.diagnostics));
}

}  // namespace exprun
