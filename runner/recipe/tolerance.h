// Rules are younger than some runs: what a run was begun with, and can be trained with, is not
// refused to it.
#pragma once

#include <functional>

#include "base/diagnostic.h"

namespace exprun {

class Tolerance {
 public:
  // Of nothing: a new recipe is judged by every rule.
  Tolerance() = default;
  // Of all that is tolerable: a stored recipe as it is.
  static Tolerance of_all();
  // Of what a stored recipe alone was warned of by `of_all`: its changes are judged as new ones.
  static Tolerance of_what_was(const Diagnostics& warned);

  // Turns the errors from number `first` on that it takes into warnings, which say that a new run
  // is refused.
  void apply(Diagnostics& diagnostics, size_t first) const;

 private:
  std::function<bool(const Diagnostic&)> takes_;
};

}  // namespace exprun
