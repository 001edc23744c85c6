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
  std::vector<std::string> overrides = apply_overrides(schemas, root, text, diagnostics, tolerance);
  validate(schemas, root, diagnostics, tolerance);
  check_no_sweep(root, file, diagnostics);
  complete(schemas, root, facts, file);
  check_rules(schemas, root, facts, diagnostics);
  tolerance.apply(diagnostics, 0);
  add_chains(text, extended, diagnostics);
  std::string hash = hash_of(leaves_of(schemas, root, file));
  return {ResolvedRecipe(std::move(root), std::move(hash), std::move(overrides), schemas),
          first_of(std::move(diagnostics))};
}

Tolerance tolerance_for(const RecipeText& text, const Facts& facts, const SchemaSet& schemas) {
  if (!text.begun_with) return {};
  if (text.overrides == *text.begun_with) return Tolerance::of_all();
  RecipeText before = text;
  before.overrides = *text.begun_with;
  return Tolerance::of_what_was(judged(before, facts, schemas, Tolerance::of_all()).diagnostics);
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
