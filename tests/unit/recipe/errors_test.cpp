// Each case of tests/errors that is about a recipe alone is answered to the letter.
#include "tests/support/error_cases.h"

using namespace exprun;

namespace {

std::string message_of(const CaseFolder& folder) {
  const SchemaSet schemas = schemas_of(folder);
  try {
    return render(resolve(recipe_of(folder), facts_of(folder), schemas).warnings());
  } catch (const RecipeError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("errors: every mistake is explained as expected") {
  check_cases(CaseOf::recipe, message_of);
}
