// Each case of tests/errors that is about a recipe alone is answered to the letter.
#include <algorithm>

#include "recipe/rules/rules.h"
#include "tests/support/error_cases.h"

using namespace exprun;

namespace {

std::string message_of(const CaseFolder& folder) {
  const SchemaSet& schemas = schemas_of(folder);
  try {
    return render(resolve(recipe_of(folder), facts_of(folder), schemas).warnings());
  } catch (const RecipeError& error) {
    return error.what();
  }
}

// Takes the rules away that complain of the case.
void leave_silent(std::vector<Rule>& rules, const CaseFolder& folder) try {
  const DatasetInfo dataset_info = facts_of(folder);
  const SchemaSet& schemas = schemas_of(folder);
  const Resolution resolution = try_resolve(recipe_of(folder), dataset_info, schemas);
  std::erase_if(rules, [&](const Rule rule) {
    Diagnostics found;
    rule({schemas, resolution.recipe.root(), dataset_info}, found);
    return !found.empty();
  });
} catch (const RecipeError&) {  // a file that cannot be read as one
}

}  // namespace

TEST_CASE("errors: every mistake is explained as expected") {
  check_cases(CaseOf::recipe, message_of);
}

TEST_CASE("errors: every rule over several tables has a case") {
  std::vector<Rule> silent(rules().begin(), rules().end());
  for (const CaseFolder& folder : cases(CaseOf::recipe))
    if (!silent.empty()) leave_silent(silent, folder);
  for (const Rule rule : silent)
    FAIL_CHECK("rule " << std::find(rules().begin(), rules().end(), rule) - rules().begin() + 1
                       << " of rules/rules.cpp is not brought about in tests/errors");
}
