// What the processor is and can do, and the cores that a process may compute on.
#pragma once

#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

// Its name; empty where the system does not say.
std::string processor_model();

// The same with its family and model number: a virtual machine may call processors of several
// generations "AMD EPYC".
std::string processor_generation();

// The largest of what the kernel allows and what it sees now, in hertz; 0 where it says neither.
double highest_clock();

// Its flags, as /proc/cpuinfo lists them; empty where that is not known.
std::string processor_flags();

// Whether a processor with these flags multiplies in a format ("bf16", "fp16") itself; where it
// does not, the format is emulated, slower than fp32.
bool multiplies_in(std::string_view format, std::string_view flags);

// Hyper-threads of one core are one name.
struct Cores {
  std::string host;
  std::set<std::string> names;
  int limit = std::numeric_limits<int>::max();  // of the control group: so many at a time

  int count() const;  // at least 1
};

// Of this process, as its affinity says: a launcher may have given each rank its own.
Cores own_cores();

// The kernel's numbers of the CPUs that this process may run on, those of one core together; the
// core with the lowest first. Empty where the kernel does not say.
std::vector<std::vector<int>> own_cpus_by_core();

}  // namespace exprun
