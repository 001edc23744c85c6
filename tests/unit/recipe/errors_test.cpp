// Each case of tests/errors that is about a recipe alone is answered to the letter.
#include <algorithm>

#include "recipe/rules/checks.h"
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
  const Facts facts = facts_of(folder);
  const SchemaSet& schemas = schemas_of(folder);
  const Judgement judgement = judge(recipe_of(folder), facts, schemas);
  std::erase_if(rules, [&](const Rule rule) {
    Diagnostics found;
    rule({schemas, judgement.recipe.root(), facts}, found);
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
                       << " of rules/checks.cpp is not brought about in tests/errors");
}
