#include "base/machine/processor.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <utility>

namespace exprun {
namespace {

// Visits what stands behind the colon of each line of that name, a core each, until `visit` returns
// true: the kernel takes its time for many cores.
template <typename Visit>
void find_in_cpuinfo(std::string_view name, Visit visit) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name) && visit(line.substr(std::min(line.size(), line.find(':') + 1))))
      return;
}

std::string first_in_cpuinfo(std::string_view name) {
  std::string first;
  find_in_cpuinfo(name, [&](std::string value) {
    first = std::move(value);
    return true;
  });
  return first;
}

bool has_any(std::string_view flags, std::initializer_list<const char*> wanted) {
  const std::string words = " " + std::string(flags) + " ";
  return std::any_of(wanted.begin(), wanted.end(), [&](const char* flag) {
    return words.find(std::string(" ") + flag + " ") != std::string::npos;
  });
}

}  // namespace

std::string processor_model() {
  const std::string model = first_in_cpuinfo("model name");
  return model.substr(std::min<size_t>(1, model.size()));
}

double highest_clock() {
  double hertz = 0, kilohertz = 0;
  if (std::ifstream("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq") >> kilohertz)
    return kilohertz * 1e3;
  find_in_cpuinfo("cpu MHz", [&](const std::string& megahertz) {
    hertz = std::max(hertz, std::strtod(megahertz.c_str(), nullptr) * 1e6);
    return false;
  });
  return hertz;
}

std::string processor_flags() {
  const std::string flags = first_in_cpuinfo("flags");
  return flags.empty() ? first_in_cpuinfo("Features") : flags;
}

bool multiplies_in(std::string_view format, std::string_view flags) {
  if (format == "bf16") return has_any(flags, {"avx512_bf16", "amx_bf16", "bf16"});
  return format != "fp16" || has_any(flags, {"avx512_fp16", "amx_fp16", "asimdhp"});
}

}  // namespace exprun
