#include "base/machine/processor.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <thread>
#include <utility>

#include "base/machine/network.h"

namespace exprun {
namespace {

// Visits what stands after the colon of each line of that name, a core each, until `visit` returns
// true: the kernel takes its time for many cores.
template <typename Visit>
void find_in_cpuinfo(std::string_view name, Visit visit) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name) && visit(line.substr(std::min(line.size(), line.find(':') + 1))))
      return;
}

// Without the space after the colon.
std::string first_in_cpuinfo(std::string_view name) {
  std::string first;
  find_in_cpuinfo(name, [&](const std::string& value) {
    first = value.substr(std::min<size_t>(1, value.size()));
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

std::string processor_model() {
  return first_in_cpuinfo("model name");
}

std::string processor_generation() {
  const std::string family = first_in_cpuinfo("cpu family"), model = first_in_cpuinfo("model\t");
  return processor_model() + (family.empty() ? "" : ", family " + family + ", model " + model);
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

int Cores::count() const {
  return std::max(1, std::min(static_cast<int>(names.size()), limit));
}

std::vector<std::vector<int>> own_cpus_by_core() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  std::vector<std::vector<int>> cores;
  std::map<std::string, size_t> known;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const auto [core, is_new] = known.try_emplace(core_of(cpu), cores.size());
    if (is_new) cores.emplace_back();
    cores[core->second].push_back(cpu);
  }
  return cores;
}

Cores own_cores() {
  return {this_host(), cores_of_process(), limit_of_control_group()};
}

}  // namespace exprun
