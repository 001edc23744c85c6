#include "base/machine/system_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/files/file.h"
#include "base/machine/gpus.h"

namespace exprun {
namespace {

// A container may have less than the machine; "max" is no limit.
double machine_bytes(const std::filesystem::path& control_group, double page) {
  const double physical = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * page;
  double limit = 0;
  if (!(std::ifstream(control_group / "memory.max") >> limit)) return physical;
  return std::min(physical, limit);
}

using Values = std::vector<std::pair<std::string, double>>;

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void add(Values& values, const std::string& name, std::optional<double> value) {
  if (value) values.emplace_back("system/" + name, *value);
}

std::optional<double> load_average() {
  double minute = 0;
  return ::getloadavg(&minute, 1) == 1 ? std::optional(minute) : std::nullopt;
}

// "MemAvailable:   23456 kB"
std::optional<double> available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double kilobytes = 0;
    if (words >> name >> kilobytes && name == "MemAvailable:") return 1024 * kilobytes;
  }
  return std::nullopt;
}

void add_gpu(Values& values, size_t number, const GpuUsage& usage) {
  const std::string gpu = "gpu" + std::to_string(number) + "/";
  add(values, gpu + "utilization_percent", usage.utilization_percent);
  add(values, gpu + "memory_bytes", usage.memory_bytes);
  add(values, gpu + "power_watts", usage.power_watts);
  add(values, gpu + "sm_clock_mhz", usage.sm_clock_mhz);
  add(values, gpu + "memory_clock_mhz", usage.memory_clock_mhz);
  add(values, gpu + "temperature_celsius", usage.temperature_celsius);
  add(values, gpu + "throttle_reasons", usage.throttle_reasons);
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

SystemUsage::SystemUsage(std::filesystem::path folder)
    : folder_(std::move(folder)), nvml_(Nvml::open()) {
  if (nvml_) visible_gpus_ = visible_gpus(nvml_->gpus(), std::getenv("CUDA_VISIBLE_DEVICES"));
}

std::vector<std::pair<std::string, double>> SystemUsage::read() {
  Values values;
  const Processor now{std::chrono::steady_clock::now(), processor_seconds()};
  if (last_) {
    const std::chrono::duration<double> elapsed = now.when - last_->when;
    add(values, "process_cpu_percent", 100 * (now.seconds - last_->seconds) / elapsed.count());
  }
  last_ = now;
  if (const double bytes = memory_use().bytes; bytes > 0)
    add(values, "process_memory_bytes", bytes);
  add(values, "load", load_average());
  add(values, "memory_available_bytes", available_memory_bytes());
  if (std::error_code error; std::filesystem::exists(folder_, error))
    add(values, "disk_free_bytes", free_space(folder_));
  for (const size_t i : visible_gpus_) add_gpu(values, i, nvml_->usage(i));
  return values;
}

}  // namespace exprun
