// A model has no parameter that its forward does not use. Gradients are views that exist before
// backward, so hooks tell which of them one really reached.
#pragma once

#include <memory>
#include <vector>

#include "engine/parameter.h"

namespace exprun {

class GradientCheck {
 public:
  // Watches the next backward; the destructor takes the hooks away again.
  explicit GradientCheck(const std::vector<Parameter>& parameters);
  ~GradientCheck();
  GradientCheck(const GradientCheck&) = delete;
  GradientCheck& operator=(const GradientCheck&) = delete;

  // Throws std::logic_error that names the parameters without a gradient.
  void require_all() const;

 private:
  const std::vector<Parameter>& parameters_;
  std::shared_ptr<std::vector<char>> reached_;
  std::vector<unsigned> hooks_;
};

}  // namespace exprun
