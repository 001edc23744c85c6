// Muon (Jordan et al. 2024): momentum, made nearly orthogonal by a quintic Newton-Schulz iteration.
// In the form of modded-nanogpt's record 8; matrices of one shape are iterated as one batch.
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/optimizer.h"
#include "kernels/linear.h"

namespace exprun {
namespace {

enum class ShapeScaling { none, original, match_rms_adamw };

struct Settings {
  double lr;
  double momentum;
  bool nesterov;
  double weight_decay;
  int64_t iterations;
  at::ScalarType iteration_dtype;
  at::ScalarType update_dtype;
  ShapeScaling scaling;
};

// X (N, r, c) with singular values near 1, for the coefficients that raise small ones fastest. A
// zero matrix stays zero.
at::Tensor orthogonalized(const at::Tensor& updates, const Settings& settings) {
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315, kEps = 1e-7;
  auto x = updates.to(settings.iteration_dtype);
  x = x.div(at::linalg_vector_norm(x, 2, {1, 2}, /*keepdim=*/true).add_(kEps));
  const bool tall = x.size(1) > x.size(2);
  if (tall) x = x.transpose(1, 2);
  for (int64_t i = 0; i < settings.iterations; ++i) {
    const auto a = batched_product(x, x.transpose(1, 2));
    const auto b = batched_product(a, x);
    // Rounded in between as the source rounds in bf16.
    x = x.mul(kA).add_(b.mul(kB)).add_(batched_product(a.mul(kC), b));
  }
  return tall ? x.transpose(1, 2) : x;
}

double shape_factor(ShapeScaling scaling, const at::Tensor& matrix) {
  const auto rows = static_cast<double>(matrix.size(0)),
             columns = static_cast<double>(matrix.size(1));
  switch (scaling) {
    case ShapeScaling::none:
      return 1;
    case ShapeScaling::original:
      return std::sqrt(std::max(1.0, rows / columns));
    case ShapeScaling::match_rms_adamw:
      return 0.2 * std::sqrt(std::max(rows, columns));
  }
  throw std::logic_error("muon: no such scaling");
}

// The matrices of one shape, by their index in the group.
struct Batch {
  std::vector<size_t> members;
  at::Tensor momentum;  // (N, r, c)
};

class Muon final : public Optimizer {
 public:
  Muon(ParameterGroup group, Settings settings) : group_(std::move(group)), settings_(settings) {
    for (size_t i = 0; i < group_.matrices.size(); ++i) batch_like(i).members.push_back(i);
    for (Batch& batch : batches_) {
      const at::Tensor& first = matrix(batch.members.front());
      batch.momentum =
          at::zeros({static_cast<int64_t>(batch.members.size()), first.size(0), first.size(1)},
                    first.options().requires_grad(false));
    }
  }

  double lr() const override { return settings_.lr; }

  void step(double lr, int64_t) override {
    for (const Batch& batch : batches_) {
      const auto updates = orthogonalized(direction(batch), settings_).to(settings_.update_dtype);
      const double factor = shape_factor(settings_.scaling, matrix(batch.members.front()));
      const auto scaled = updates.mul(factor);
      for (size_t i = 0; i < batch.members.size(); ++i) {
        at::Tensor values = matrix(batch.members[i]).detach();
        if (settings_.weight_decay > 0) values.mul_(1 - lr * settings_.weight_decay);
        values.add_(scaled[static_cast<int64_t>(i)].to(values.scalar_type()), -lr);
      }
    }
  }

  std::vector<OptimizerState> state() override {
    OptimizerState state{"momentum_buffer", std::vector<at::Tensor>(group_.matrices.size())};
    for (const Batch& batch : batches_)
      for (size_t i = 0; i < batch.members.size(); ++i)
        state.tensors[batch.members[i]] = batch.momentum[static_cast<int64_t>(i)];
    return {state};
  }

 private:
  const at::Tensor& matrix(size_t index) const { return group_.matrices[index].tensor; }

  Batch& batch_like(size_t index) {
    for (Batch& batch : batches_)
      if (matrix(batch.members.front()).sizes() == matrix(index).sizes() &&
          matrix(batch.members.front()).scalar_type() == matrix(index).scalar_type())
        return batch;
    return batches_.emplace_back();
  }

  // Takes the gradients into the momentum; what is to be made orthogonal.
  at::Tensor direction(const Batch& batch) const {
    std::vector<at::Tensor> gradients;
    for (const size_t index : batch.members) gradients.push_back(matrix(index).grad());
    const auto gradient = at::stack(gradients);
    batch.momentum.mul_(settings_.momentum).add_(gradient);
    return settings_.nesterov ? gradient.add(batch.momentum, settings_.momentum) : batch.momentum;
  }

  ParameterGroup group_;
  Settings settings_;
  std::vector<Batch> batches_;
};

at::ScalarType dtype_named(const std::string& name) {
  return name == "bf16" ? at::kBFloat16 : at::kFloat;
}

ShapeScaling scaling_named(const std::string& name) {
  if (name == "none") return ShapeScaling::none;
  return name == "original" ? ShapeScaling::original : ShapeScaling::match_rms_adamw;
}

std::unique_ptr<Optimizer> build(const Section& section, ParameterGroup group) {
  const Settings settings{section.get<double>("lr"),
                          section.get<double>("momentum"),
                          section.get<bool>("nesterov"),
                          section.get<double>("weight_decay"),
                          section.get<int64_t>("newton_schulz_steps"),
                          dtype_named(section.get<std::string>("newton_schulz_dtype")),
                          dtype_named(section.get<std::string>("update_dtype")),
                          scaling_named(section.get<std::string>("shape_scaling"))};
  return std::make_unique<Muon>(std::move(group), settings);
}

const Register<Optimizer> registration{"muon", {Optimizer::Granularity::matrix_wise, build}};

}  // namespace
}  // namespace exprun
