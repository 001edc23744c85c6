// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019), one fused kernel a flat range.
// They differ in weight decay only: Adam's is a part of the gradient, AdamW's is decoupled.
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>

#include "engine/buffers/moment_buffers.h"
#include "engine/optimizer.h"

namespace exprun {
namespace {

struct Settings {
  double lr;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;
  bool decoupled;
};

class Adam final : public Optimizer {
 public:
  Adam(ParameterGroup group, Settings settings)
      : group_(std::move(group)),
        settings_(settings),
        exp_avg_("exp_avg", group_.ranges),
        exp_avg_sq_("exp_avg_sq", group_.ranges) {}

  double lr() const override { return settings_.lr; }

  void step(double lr, int64_t update) override {
    for (size_t i = 0; i < group_.ranges.size(); ++i) step(i, lr, update);
  }

  std::vector<OptimizerState> state() override { return {exp_avg_.state(), exp_avg_sq_.state()}; }

 private:
  void step(size_t i, double lr, int64_t update) {
    const auto& [values, gradients, decays] = group_.ranges[i];
    const auto count =
        at::full({}, static_cast<double>(update), values.options().dtype(at::kFloat));
    const double decay = decays ? settings_.weight_decay : 0;
    const auto& s = settings_;
    if (s.decoupled)
      at::_fused_adamw_({values}, {gradients}, {exp_avg_[i]}, {exp_avg_sq_[i]}, {}, {count}, lr,
                        s.beta1, s.beta2, decay, s.eps, /*amsgrad=*/false, /*maximize=*/false);
    else
      at::_fused_adam_({values}, {gradients}, {exp_avg_[i]}, {exp_avg_sq_[i]}, {}, {count}, lr,
                       s.beta1, s.beta2, decay, s.eps, /*amsgrad=*/false, /*maximize=*/false);
  }

  ParameterGroup group_;
  Settings settings_;
  MomentBuffers exp_avg_;
  MomentBuffers exp_avg_sq_;
};

template <bool decoupled>
std::unique_ptr<Optimizer> build(const Section& section, ParameterGroup group) {
  const auto betas = section.get<std::vector<double>>("betas");
  const Settings settings{
      section.get<double>("lr"),           betas.at(0), betas.at(1), section.get<double>("eps"),
      section.get<double>("weight_decay"), decoupled};
  return std::make_unique<Adam>(std::move(group), settings);
}

using Granularity = Optimizer::Granularity;
const Register<Optimizer> adam{"adam", {Granularity::element_wise, build<false>}};
const Register<Optimizer> adamw{"adamw", {Granularity::element_wise, build<true>}};

}  // namespace
}  // namespace exprun
