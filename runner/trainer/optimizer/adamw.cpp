// Adam with decoupled weight decay (Loshchilov and Hutter 2019), one fused kernel a flat range.
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

#include "engine/optimizer.h"

namespace exprun {
namespace {

struct Settings {
  double lr;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;
};

class AdamW final : public Optimizer {
 public:
  AdamW(ParameterGroup group, Settings settings) : group_(std::move(group)), settings_(settings) {
    for (const auto& range : group_.ranges) {
      exp_avg_.push_back(at::zeros_like(range.values));
      exp_avg_sq_.push_back(at::zeros_like(range.values));
    }
  }

  double lr() const override { return settings_.lr; }

  void step(double lr, int64_t update) override {
    const auto count = at::full({}, static_cast<double>(update), at::kFloat);
    for (size_t i = 0; i < group_.ranges.size(); ++i) {
      const auto& range = group_.ranges[i];
      const double decay = range.decays ? settings_.weight_decay : 0;
      at::_fused_adamw_({range.values}, {range.gradients}, {exp_avg_[i]}, {exp_avg_sq_[i]}, {},
                        {count}, lr, settings_.beta1, settings_.beta2, decay, settings_.eps,
                        /*amsgrad=*/false, /*maximize=*/false);
    }
  }

  std::vector<OptimizerState> state() override {
    std::vector<OptimizerState> state;
    for (size_t i = 0; i < group_.ranges.size(); ++i) {
      state.push_back({"exp_avg", i, exp_avg_[i]});
      state.push_back({"exp_avg_sq", i, exp_avg_sq_[i]});
    }
    return state;
  }

 private:
  ParameterGroup group_;
  Settings settings_;
  std::vector<at::Tensor> exp_avg_;
  std::vector<at::Tensor> exp_avg_sq_;
};

std::unique_ptr<Optimizer> build(const Section& section, ParameterGroup group) {
  const auto betas = section.get<std::vector<double>>("betas");
  const Settings settings{section.get<double>("lr"), betas.at(0), betas.at(1),
                          section.get<double>("eps"), section.get<double>("weight_decay")};
  return std::make_unique<AdamW>(std::move(group), settings);
}

const Register<Optimizer> registration{
    "adamw", Optimizer::Factory{Optimizer::Granularity::element_wise, build}};

}  // namespace
}  // namespace exprun
