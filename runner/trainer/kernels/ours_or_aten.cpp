#include "kernels/ours_or_aten.h"

#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>

#include "hwy/highway.h"

namespace exprun {
namespace {

// What Highway falls back to, one number after another, is neither fast nor as exact.
constexpr int64_t kVectorised = (HWY_SSE4 << 1) - 1;  // on x86 a wider set is a lower bit

int64_t beyond_the_limit(const std::string& limit) {
  if (limit == "AVX2") return HWY_AVX2 - 1;
  return limit == "DEFAULT" ? HWY_SSE4 - 1 : 0;
}

// Before the first kernel runs, which would choose otherwise.
const bool limited = [] {
  hwy::DisableTargets(beyond_the_limit(at::get_cpu_capability()));
  return true;
}();

void forward_and_backward(const Function& function, const Tensors& inputs) {
  const at::AutoGradMode grad_mode(true);
  Tensors leaves;
  for (const auto& input : inputs)
    leaves.push_back(input.defined() ? input.detach().set_requires_grad(true) : input);
  const auto value = function(leaves);
  value.backward(value.detach());
}

}  // namespace

std::vector<std::string> usable_instruction_sets() {
  std::vector<std::string> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets())
    if (target & kVectorised) names.emplace_back(hwy::TargetName(target));
  return names;
}

void use_instruction_set(const std::string& name) {
  int64_t wanted = 0;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets())
    if (hwy::TargetName(target) == name) wanted = target;
  hwy::SetSupportedTargetsForTest(wanted);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

bool has_our_kernels() {
  static const bool vectorised = !usable_instruction_sets().empty();
  return vectorised;
}

at::Tensor fastest(const autotune::Key& key, const Tensors& inputs, const Function& ours,
                   const Function& aten) {
  if (!has_our_kernels()) return aten(inputs);
  const auto& chosen = autotune::choose(key, kOursOrAten,
                                        [&](size_t index) {
                                          forward_and_backward(index == 0 ? ours : aten, inputs);
                                        }) == 0
                           ? ours
                           : aten;
  return chosen(inputs);
}

}  // namespace exprun
