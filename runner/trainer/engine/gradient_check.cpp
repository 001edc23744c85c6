#include "engine/gradient_check.h"

#include <stdexcept>
#include <string>

namespace exprun {

GradientCheck::GradientCheck(const ParameterList& parameters) {
  for (const Parameter& parameter : parameters.items())
    if (!parameter.is_frozen()) parameters_.push_back(parameter);
  reached_ = std::make_shared<std::vector<char>>(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i)
    hooks_.push_back(parameters_[i].tensor.register_hook(
        [reached = reached_, i](const at::Tensor&) { reached->at(i) = true; }));
}

GradientCheck::~GradientCheck() {
  for (size_t i = 0; i < hooks_.size(); ++i) parameters_[i].tensor.remove_hook(hooks_[i]);
}

void GradientCheck::require_all() const {
  std::string missing;
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (!reached_->at(i)) missing += (missing.empty() ? "'" : ", '") + parameters_[i].name + "'";
  if (missing.empty()) return;
  throw std::logic_error("model: no gradient reached " + missing +
                         ": its forward pass does not use it");
}

}  // namespace exprun
