// The instruction set that our kernels use: the widest of the processor, or less where
// ATEN_CPU_CAPABILITY (default, avx2, avx512) says so, as ATen's own kernels do.
#pragma once

#include <string>
#include <vector>

namespace exprun {

// Those that kernels were compiled for and that this process may use, widest first: "AVX3" (which
// is AVX-512), "AVX2", "SSE4". Empty where there is none of them: then ATen's kernels run.
std::vector<std::string> usable_instruction_sets();

// Kernels use this one from now on, whatever the processor has: for tests. Empty: the widest.
void use_instruction_set(const std::string& name);

}  // namespace exprun
