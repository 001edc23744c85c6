#include "base/machine/memory_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace exprun {
namespace {

// A container may have less than the machine; "max" is no limit.
double machine_bytes(const std::filesystem::path& control_group, double page) {
  const double physical = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * page;
  double limit = 0;
  if (!(std::ifstream(control_group / "memory.max") >> limit)) return physical;
  return std::min(physical, limit);
}

}  // namespace

MemoryUse memory_use(const std::filesystem::path& control_group) {
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  double size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  // The kernel counts the peak now and then.
  const double peak = std::max(resident * page, static_cast<double>(usage.ru_maxrss) * 1024);
  return {resident * page, peak, machine_bytes(control_group, page)};
}

}  // namespace exprun
