// Which kernels compute: ours, and in which instruction set, or ATen's operators. Of functions that
// have both, the faster for its sizes on this machine is measured once (engine/device/autotune.h).
#pragma once

#include <string>
#include <vector>

#include "engine/device/autotune.h"
#include "kernels/custom_function.h"

namespace exprun {

// The instruction sets that kernels were compiled for and that this process may use, widest first:
// "AVX3" (which is AVX-512), "AVX2", "SSE4". Ours use the widest of the processor, or less where
// ATEN_CPU_CAPABILITY (default, avx2, avx512) says so, as ATen's do. Empty where there is none of
// them: then ATen's run.
std::vector<std::string> usable_instruction_sets();

// Kernels use this one from now on, whatever the processor has: for tests. Empty: the widest.
void use_instruction_set(const std::string& name);

// Whether there are kernels of ours for this processor.
bool has_our_kernels();

// What is measured is forward and backward together, of the inputs given. Undefined inputs are
// those left out.
at::Tensor fastest(const autotune::Key& key, const Tensors& inputs, const Function& ours,
                   const Function& aten);

// For kernels that are measured otherwise: the names of both ways.
inline constexpr autotune::Names kOursOrAten = {"exprun", "aten"};

}  // namespace exprun
