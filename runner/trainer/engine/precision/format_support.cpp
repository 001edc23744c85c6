#include "engine/precision/format_support.h"

#include <ATen/Context.h>

#include "base/machine/processor.h"
#include "engine/precision/precision.h"

namespace exprun {

std::optional<std::string> check_formats(const Section& precision, const std::string& processor) {
  const auto compute = precision.get<std::string>("compute");
  if (compute == "tf32")
    throw precision.error("compute",
                          "TF32 is a format of NVIDIA's tensor cores, and this run trains on a CPU",
                          "take fp32, or bf16 where the processor has it");
  if (multiplies_in(compute, processor)) return std::nullopt;
  return "this processor has no " + compute + " instructions: " + compute +
         " is emulated, slower than fp32";
}

std::optional<std::string> check_formats(const Section& precision, const GpuFacts& gpu) {
  const auto compute = precision.get<std::string>("compute");
  if (gpu.is_ampere_or_newer()) return std::nullopt;
  if (compute == "tf32")
    throw precision.error("compute", gpu.name + " has no TF32: NVIDIA's GPUs have it since Ampere",
                          "take fp32 or fp16");
  if (compute != "bf16") return std::nullopt;
  return gpu.name + " has no bf16 instructions: bf16 is emulated, slower than fp16";
}

void use_formats(const Section& precision) {
  const bool tf32 = Precision::read(precision).tf32;
  at::globalContext().setFloat32MatmulPrecision(tf32 ? "high" : "highest");
}

}  // namespace exprun
