#include "kernels/instruction_set.h"

#include <ATen/Version.h>

#include <cstdint>

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

}  // namespace exprun
