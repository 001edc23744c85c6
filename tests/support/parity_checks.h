// What the parity tests of several sets look at.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/parity_run.h"

namespace exprun {

// A tensor as it is compared: some sets leave a part out.
using Compared = std::function<at::Tensor(const Parameter&, const at::Tensor&)>;
at::Tensor whole(const Parameter&, const at::Tensor& tensor);

// Gradients that are left behind, by the keys "grads_max_abs" and "grads_max_rel_norm".
void check_gradients(const ParityRun& run, const std::filesystem::path& file,
                     const nlohmann::json& tolerance, const Compared& compared = whole);

// Parameters, by "final_max_abs" and "final_max_rel_norm" as far as the set has them.
void check_final(const ParityRun& run, const std::filesystem::path& file,
                 const nlohmann::json& tolerance, const Compared& compared = whole);

// One update: loss, gradient norm and rate, by "loss" (or "micro_loss"), "grad_norm" and 1e-15.
void check_update(ParityRun& run, int64_t k, const nlohmann::json& curve,
                  const nlohmann::json& tolerance);

// All of them.
void check_curve(ParityRun& run, const nlohmann::json& curve, const nlohmann::json& tolerance);

}  // namespace exprun
