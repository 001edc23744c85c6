#include "base/processor.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>

namespace exprun {
namespace {

bool has_any(std::string_view flags, std::initializer_list<const char*> wanted) {
  const std::string words = " " + std::string(flags) + " ";
  return std::any_of(wanted.begin(), wanted.end(), [&](const char* flag) {
    return words.find(std::string(" ") + flag + " ") != std::string::npos;
  });
}

}  // namespace

std::string processor_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags") || line.starts_with("Features"))
      return line.substr(std::min(line.size(), line.find(':') + 1));
  return "";
}

bool multiplies_in(std::string_view format, std::string_view flags) {
  if (format == "bf16") return has_any(flags, {"avx512_bf16", "amx_bf16", "bf16"});
  return format != "fp16" || has_any(flags, {"avx512_fp16", "amx_fp16", "asimdhp"});
}

}  // namespace exprun
