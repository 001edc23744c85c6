// What only a program with CUDA in it can say of GPUs: gpu.cpp is in exprun-trainer-cuda,
// no_gpu.cpp in exprun-trainer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace exprun {

struct GpuFacts {
  std::string name;  // "NVIDIA H200"
  std::string uuid;  // "GPU-...", as nvidia-smi prints it
  int64_t memory_bytes = 0;
  int capability = 0;  // ten times the compute capability: 90

  // Tensor cores for bf16 and TF32.
  bool is_ampere_or_newer() const { return capability >= 80; }
};

// Those that this process may use (CUDA_VISIBLE_DEVICES), in the order of their indices; at least
// one. Throws Error that says why there is none and what to do.
std::vector<GpuFacts> usable_gpus();

// "13.0": of CUDA's run-time library; empty where the program has none.
std::string cuda_version();

}  // namespace exprun
