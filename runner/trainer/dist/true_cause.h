// Whose fault it is when training fails behind a collective that was aborted.
#pragma once

#include <exception>
#include <utility>

#include "base/diagnostic.h"
#include "dist/process_group.h"

namespace exprun {

// What the function returns. A GPU whose collective was aborted may fail in words of its own, and
// LibTorch with it: where the group is not intact, its trouble is thrown instead
// (ProcessGroup::require_intact). Errors that exprun itself throws pass.
template <class Function>
auto with_true_cause(ProcessGroup& group, Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const Error&) {
    throw;
  } catch (const RecipeError&) {
    throw;
  } catch (const std::exception&) {
    group.require_intact();
    throw;
  }
}

}  // namespace exprun
