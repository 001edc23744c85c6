#include "base/machine/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/machine/host_name.h"

namespace exprun {
namespace {

std::string first_line(const std::string& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

// Containers of one machine have names of their own, and limits; machines may share a name.
std::string this_host() {
  return host_name() + ' ' + first_line("/proc/sys/kernel/random/boot_id");
}

// The list of a core's hyper-threads is the same text for each of them.
std::string core_of(int cpu) {
  const std::string name = "cpu" + std::to_string(cpu);
  const std::string siblings =
      first_line("/sys/devices/system/cpu/" + name + "/topology/thread_siblings_list");
  return siblings.empty() ? name : siblings;
}

std::set<std::string> cores_of_process() {
  std::set<std::string> names;
  cpu_set_t allowed;
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const int cpus = known ? CPU_SETSIZE : static_cast<int>(std::thread::hardware_concurrency());
  for (int cpu = 0; cpu < cpus; ++cpu)
    if (!known || CPU_ISSET(cpu, &allowed)) names.insert(core_of(cpu));
  return names;
}

// "200000 100000" in a container that may use two cores, "max 100000" without a limit.
int limit_of_control_group() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || period <= 0) return Cores{}.limit;
  return static_cast<int>(quota / period + 0.5);
}

}  // namespace

int Cores::count() const {
  return std::max(1, std::min(static_cast<int>(names.size()), limit));
}

Cores own_cores() {
  return {this_host(), cores_of_process(), limit_of_control_group()};
}

}  // namespace exprun
