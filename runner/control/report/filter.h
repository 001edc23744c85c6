// Which runs an expression of --where holds of.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/report/cell.h"
#include "control/report/expression.h"

namespace exprun {

inline constexpr const char* kHowToAskForTag = "write tag(\"WORD\")";

// What a filter reads. `values` throws RecipeError for a name that means nothing.
struct RunFacts {
  std::function<RunValues(const ValueName& name)> values;
  std::function<bool(size_t run, const std::string& tag)> has_tag;
  std::vector<std::string> states;  // that a run may have
};

// For each run whether the expression holds. A comparison with a value that a run does not have is
// false; nan equals nan; numbers are compared with numbers, times with dates too, and texts as they
// are written. Throws RecipeError: a comparison of numbers with a text, a state that does not
// exist.
std::vector<bool> holds(const Expression& expression,
                        const std::shared_ptr<const SourceFile>& source, size_t runs,
                        const RunFacts& facts);

}  // namespace exprun
