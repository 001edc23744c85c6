// Lion (Chen et al. 2023, algorithm 2): the sign of an interpolated momentum, decoupled decay.

#include "engine/buffers/moment_buffers.h"
#include "engine/optimizer.h"

namespace exprun {
namespace {

struct Settings {
  double lr;
  double beta1;
  double beta2;
  double weight_decay;
};

class Lion final : public Optimizer {
 public:
  Lion(ParameterGroup group, Settings settings)
      : group_(std::move(group)), settings_(settings), exp_avg_("exp_avg", group_.ranges) {}

  double lr() const override { return settings_.lr; }

  void step(double lr, int64_t) override {
    for (size_t i = 0; i < group_.ranges.size(); ++i) {
      const auto& [values, gradients, decays] = group_.ranges[i];
      const at::Tensor& momentum = exp_avg_[i];
      if (decays) values.mul_(1 - lr * settings_.weight_decay);
      values.add_(momentum.lerp(gradients, 1 - settings_.beta1).sign_(), -lr);
      momentum.lerp_(gradients, 1 - settings_.beta2);
    }
  }

  std::vector<OptimizerState> state() override { return {exp_avg_.state()}; }

 private:
  ParameterGroup group_;
  Settings settings_;
  MomentBuffers exp_avg_;
};

std::unique_ptr<Optimizer> build(const Section& section, ParameterGroup group) {
  const auto betas = section.get<std::vector<double>>("betas");
  return std::make_unique<Lion>(std::move(group),
                                Settings{section.get<double>("lr"), betas.at(0), betas.at(1),
                                         section.get<double>("weight_decay")});
}

const Register<Optimizer> registration{"lion", {Optimizer::Granularity::element_wise, build}};

}  // namespace
}  // namespace exprun
