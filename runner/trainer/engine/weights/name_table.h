// [model] init_names: what a file of weights calls the parameters of the recipe's model.
#pragma once

#include <vector>

#include "engine/parameter.h"
#include "engine/weights/tensor_plan.h"
#include "recipe/section.h"

namespace exprun {

// Parameters that the table does not list are called there as they are here; heads are in the order
// that the recipe says. Throws RecipeError at `init_names` for a line that is not understood, or
// whose parameter the model does not have.
TensorPlan plan_by_names(const Section& model, const std::vector<Parameter>& parameters);

}  // namespace exprun
