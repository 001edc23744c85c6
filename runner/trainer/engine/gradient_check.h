// That backward reaches every parameter that is trained: a model has none that its forward does not
// use, and only frozen ones get no gradient.
#pragma once

#include <memory>
#include <vector>

#include "engine/parameter.h"

namespace exprun {

// Gradients are views that exist before backward, so hooks tell which of them it really reached.
class GradientCheck {
 public:
  // Watches the next backward; the destructor takes the hooks away again.
  explicit GradientCheck(const ParameterList& parameters);
  ~GradientCheck();
  GradientCheck(const GradientCheck&) = delete;
  GradientCheck& operator=(const GradientCheck&) = delete;

  // Throws std::logic_error that names the parameters without a gradient.
  void require_all() const;

 private:
  std::vector<Parameter> parameters_;  // that are trained
  std::shared_ptr<std::vector<char>> reached_;
  std::vector<unsigned> hooks_;
};

}  // namespace exprun
