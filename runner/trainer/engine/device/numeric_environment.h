// What the bits of a run depend on beside its recipe and data, and how threads are set.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace exprun {

struct NumericEnvironment {
  int threads = 0;               // of one process, inside operators
  std::string instruction_set;   // "AVX512"
  std::string libtorch;          // "2.11.0"
  std::string blas;              // "mkl"; "generic" is 20 to 45 times slower
  std::string onednn;            // "3.10.2"
  int world_size = 1;            // of these processes
  std::string strategy = "ddp";  // how they share the work
  std::string device = "cpu";    // or the GPU's name

  friend bool operator==(const NumericEnvironment&, const NumericEnvironment&) = default;
};

// As the process is set now; of the ranks it knows nothing.
NumericEnvironment numeric_environment();

// The same for the run's record, as JSON, with the GPU if there is one, and all that LibTorch says
// of how it was built: MKL, oneDNN, and CUDA, cuDNN and NCCL where it has them.
std::string libraries_json(const NumericEnvironment& environment, at::Device device);

// Sets threads once, before the first operator; numbers too small for the normal form become zero
// on every thread (results do not depend on which thread computed them, and rows of an embedding
// that are never used do not slow Adam down for ever).
void use_threads(int threads);
// What was set, also where one operation takes fewer for a while.
int used_threads();

}  // namespace exprun
