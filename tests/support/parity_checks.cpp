#include "support/parity_checks.h"

#include <ATen/TensorOperators.h>
#include <doctest/doctest.h>

#include <cmath>

namespace exprun {
namespace {

void check_within(const std::string& prefix, const nlohmann::json& tolerance,
                  const at::Tensor& ours, const at::Tensor& theirs) {
  if (const auto found = tolerance.find(prefix + "_max_abs"); found != tolerance.end())
    CHECK(largest(ours - theirs) <= found->get<double>());
  if (const auto found = tolerance.find(prefix + "_max_rel_norm"); found != tolerance.end())
    CHECK(relative(ours, theirs) <= found->get<double>());
}

}  // namespace

at::Tensor whole(const Parameter&, const at::Tensor& tensor) {
  return tensor;
}

void check_gradients(const ParityRun& run, const std::filesystem::path& file,
                     const nlohmann::json& tolerance, const Compared& compared) {
  REQUIRE(tolerance.contains("grads_max_rel_norm"));
  const Safetensors gradients(file);
  for (const auto& parameter : run.parameters()) {
    INFO(parameter.name);
    check_within("grads", tolerance, compared(parameter, parameter.tensor.grad()),
                 compared(parameter, run.theirs(gradients, parameter)));
  }
}

void check_final(const ParityRun& run, const std::filesystem::path& file,
                 const nlohmann::json& tolerance, const Compared& compared) {
  REQUIRE(tolerance.contains("final_max_rel_norm"));
  const Safetensors final(file);
  for (const auto& parameter : run.parameters()) {
    INFO(parameter.name);
    check_within("final", tolerance, compared(parameter, parameter.tensor.detach()),
                 compared(parameter, run.theirs(final, parameter)));
  }
}

void check_update(ParityRun& run, int64_t k, const nlohmann::json& curve,
                  const nlohmann::json& tolerance) {
  INFO("update ", k);
  const auto i = static_cast<size_t>(k);
  const auto recorded = [&](const char* key) { return curve.at(key).at(i).get<double>(); };
  const auto result = run.step(k);
  const double of_loss = tolerance.at(tolerance.contains("loss") ? "loss" : "micro_loss");
  CHECK(std::abs(result.loss - recorded("loss")) <= of_loss);
  if (tolerance.contains("grad_norm"))
    CHECK(std::abs(result.grad_norm - recorded("grad_norm")) <=
          tolerance.at("grad_norm").get<double>());
  if (curve.contains("lr")) CHECK(std::abs(result.lr - recorded("lr")) <= 1e-15);
}

void check_curve(ParityRun& run, const nlohmann::json& curve, const nlohmann::json& tolerance) {
  const auto updates = static_cast<int64_t>(curve.at("loss").size());
  for (int64_t k = 0; k < updates; ++k) check_update(run, k, curve, tolerance);
}

}  // namespace exprun
