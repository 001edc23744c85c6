#include "base/memory_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace exprun {

MemoryUse memory_use() {
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  double size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  // The kernel counts the peak now and then.
  const double peak = std::max(resident * page, static_cast<double>(usage.ru_maxrss) * 1024);
  return {resident * page, peak, static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * page};
}

}  // namespace exprun
