// Stochastic gradient descent with momentum, Polyak's or Nesterov's (Sutskever et al. 2013, in the
// form of torch.optim.SGD). Weight decay is a part of the gradient.
#include <ATen/ops/_fused_sgd.h>

#include "engine/buffers/moment_buffers.h"
#include "engine/optimizer.h"

namespace exprun {
namespace {

struct Settings {
  double lr;
  double momentum;
  bool nesterov;
  double weight_decay;
};

class Sgd final : public Optimizer {
 public:
  Sgd(ParameterGroup group, Settings settings)
      : group_(std::move(group)),
        settings_(settings),
        momentum_("momentum_buffer",
                  settings.momentum > 0 ? group_.ranges : std::vector<FlatRange>{}) {}

  double lr() const override { return settings_.lr; }

  void step(double lr, int64_t) override {
    for (size_t i = 0; i < group_.ranges.size(); ++i) {
      const auto& [values, gradients, decays] = group_.ranges[i];
      std::vector<at::Tensor> momentum;
      if (settings_.momentum > 0) momentum.push_back(momentum_[i]);
      // From zeros without dampening a first step is one like any other.
      at::_fused_sgd_({values}, {gradients}, momentum, decays ? settings_.weight_decay : 0,
                      settings_.momentum, lr, /*dampening=*/0, settings_.nesterov,
                      /*maximize=*/false, /*is_first_step=*/false);
    }
  }

  std::vector<OptimizerState> state() override {
    if (settings_.momentum == 0) return {};
    return {momentum_.state()};
  }

 private:
  ParameterGroup group_;
  Settings settings_;
  MomentBuffers momentum_;
};

std::unique_ptr<Optimizer> build(const Section& section, ParameterGroup group) {
  const Settings settings{section.get<double>("lr"), section.get<double>("momentum"),
                          section.get<bool>("nesterov"), section.get<double>("weight_decay")};
  return std::make_unique<Sgd>(std::move(group), settings);
}

const Register<Optimizer> registration{"sgd", {Optimizer::Granularity::element_wise, build}};

}  // namespace
}  // namespace exprun
