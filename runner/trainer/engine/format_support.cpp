#include "engine/format_support.h"

#include <ATen/Context.h>

#include "base/processor.h"
#include "engine/precision.h"

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

void use_formats(const Section& precision) {
  const bool tf32 = Precision::read(precision).tf32;
  at::globalContext().setFloat32MatmulPrecision(tf32 ? "high" : "highest");
}

}  // namespace exprun
