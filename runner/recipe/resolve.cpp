#include "recipe/checks.h"
#include "recipe/complete.h"
#include "recipe/extended.h"
#include "recipe/identity.h"
#include "recipe/overrides.h"
#include "recipe/resolved.h"
#include "recipe/validate.h"

namespace exprun {

Judgement judge(const RecipeText& text, const Facts& facts, const SchemaSet& schemas) {
  const std::string file = text.files.front()->name;
  Diagnostics diagnostics;
  Extended extended = extend_files(text, schemas, diagnostics);
  Table& root = extended.root;
  apply_overrides(schemas, root, text, diagnostics);
  validate(schemas, root, diagnostics);
  check_no_sweep(root, file, diagnostics);
  complete(schemas, root, facts, file);
  check_rules(schemas, root, facts, diagnostics);
  add_chains(text, extended, diagnostics);
  std::string hash = hash_of(leaves_of(schemas, root, file));
  return {ResolvedRecipe(std::move(root), std::move(hash), schemas),
          sorted(std::move(diagnostics))};
}

ResolvedRecipe resolve(const RecipeText& text, const Facts& facts, const SchemaSet& schemas) {
  Judgement judgement = judge(text, facts, schemas);
  if (has_errors(judgement.diagnostics)) throw RecipeError(std::move(judgement.diagnostics));
  return std::move(judgement.recipe).with_warnings(std::move(judgement.diagnostics));
}

}  // namespace exprun
