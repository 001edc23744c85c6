#include "engine/machine.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <sched.h>
#include <torch/version.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

namespace exprun {

namespace {

// The text between `begin` and the next of `ends`, or "unknown".
std::string part(const std::string& text, const std::string& begin, const char* ends) {
  const size_t at = text.find(begin);
  if (at == std::string::npos) return "unknown";
  const size_t start = at + begin.size();
  return text.substr(start, text.find_first_of(ends, start) - start);
}

std::string first_line(const std::string& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

// One entry a core: the list of its hyper-threads is the same text for each of them.
int cores_of_process() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return static_cast<int>(std::thread::hardware_concurrency());
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string name = "cpu" + std::to_string(cpu);
    const std::string siblings =
        first_line("/sys/devices/system/cpu/" + name + "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? name : siblings);
  }
  return static_cast<int>(cores.size());
}

// "200000 100000" in a container that may use two cores, "max 100000" without a limit.
int cores_of_control_group(int otherwise) {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || period <= 0) return otherwise;
  return static_cast<int>(quota / period + 0.5);
}

}  // namespace

Machine this_machine() {
  const std::string built = at::show_config();
  Machine machine;
  machine.threads = at::get_num_threads();
  machine.instruction_set = at::get_cpu_capability();
  machine.libtorch = TORCH_VERSION;
  machine.blas = part(built, "BLAS_INFO=", ",\n ");
  machine.onednn = part(built, "MKL-DNN v", " \n");
  return machine;
}

std::string libraries_json(const Machine& machine) {
  return nlohmann::ordered_json{
      {"libtorch", machine.libtorch},
      {"blas", machine.blas},
      {"mkl", part(at::show_config(), "Math Kernel Library Version ", "-\n")},
      {"onednn", machine.onednn},
      {"instruction_set", machine.instruction_set},
      {"threads", machine.threads},
      {"config", at::show_config()}}
      .dump();
}

int usable_cores() {
  const int cores = cores_of_process();
  return std::max(1, std::min(cores, cores_of_control_group(cores)));
}

void use_threads(int threads) {
  at::globalContext().setFlushDenormal(true);
  at::set_num_threads(threads);
  at::set_num_interop_threads(1);
}

}  // namespace exprun
