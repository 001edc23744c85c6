#include "kernels/instruction_set.h"

#include <ATen/Version.h>

#include "hwy/highway.h"

namespace exprun {
namespace {

// What Highway falls back to, one number after another, is neither fast nor as exact.
constexpr int64_t kVectorised = HWY_AVX3_DL | HWY_AVX3 | HWY_AVX2 | HWY_SSE4;

int64_t beyond_the_limit(const std::string& limit) {
  constexpr int64_t kAvx512 = HWY_AVX3_DL | HWY_AVX3, kAvx2 = HWY_AVX2;
  if (limit == "AVX2") return kAvx512;
  return limit == "DEFAULT" ? kAvx512 | kAvx2 : 0;
}

// Before the first kernel runs, which would choose otherwise.
const bool limited = [] {
  hwy::DisableTargets(beyond_the_limit(at::get_cpu_capability()));
  return true;
}();

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

}  // namespace exprun
