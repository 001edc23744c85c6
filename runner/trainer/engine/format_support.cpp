#include "engine/format_support.h"

#include <ATen/Context.h>

#include <algorithm>
#include <fstream>

#include "engine/precision.h"

namespace exprun {
namespace {

bool has_any(const std::string& processor, std::initializer_list<const char*> flags) {
  const std::string words = " " + processor + " ";
  for (const char* flag : flags)
    if (words.find(std::string(" ") + flag + " ") != std::string::npos) return true;
  return false;
}

}  // namespace

std::optional<std::string> check_formats(const Section& precision, const std::string& processor) {
  const auto compute = precision.get<std::string>("compute");
  if (compute == "tf32")
    throw precision.error("compute",
                          "TF32 is a format of NVIDIA's tensor cores, and this run trains on a CPU",
                          "take fp32, or bf16 where the processor has it");
  if (compute == "bf16" && !has_any(processor, {"avx512_bf16", "amx_bf16", "bf16"}))
    return "this processor has no bf16 instructions: bf16 is emulated, slower than fp32";
  if (compute == "fp16" && !has_any(processor, {"avx512_fp16", "amx_fp16", "asimdhp"}))
    return "this processor has no fp16 instructions: fp16 is emulated, slower than fp32";
  return std::nullopt;
}

void use_formats(const Section& precision) {
  const bool tf32 = Precision::read(precision).tf32;
  at::globalContext().setFloat32MatmulPrecision(tf32 ? "high" : "highest");
}

std::string processor_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags") || line.starts_with("Features"))
      return line.substr(std::min(line.size(), line.find(':') + 1));
  return "";
}

}  // namespace exprun
