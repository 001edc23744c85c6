// In which instruction set our kernels compute.
#pragma once

#include <string>
#include <vector>

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

}  // namespace exprun
