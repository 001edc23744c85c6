// NVIDIA's management library, opened at run time: what GPUs there are and what they do. A
// machine without it has none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace exprun {

struct Gpu {
  std::string name, uuid;
  int64_t memory_bytes = 0;
  double power_limit_watts = 0;
  std::vector<std::string> instances = {};  // uuids of its MIG instances ("MIG-..."), if it is cut
};

// At this moment; utilisation is of the library's last sampling period (a second or less). What a
// GPU or an old driver cannot say is absent.
struct GpuUsage {
  std::optional<double> utilisation_percent;  // of the time, in which a kernel ran
  std::optional<double> memory_bytes;         // taken, by all processes
  std::optional<double> power_watts;
  std::optional<double> sm_clock_mhz, memory_clock_mhz;
  std::optional<double> temperature_celsius;
  std::optional<double> throttle_reasons;  // bits, as nvmlClocksThrottleReasons of nvml.h
};

class Nvml {
 public:
  // Nothing when the library or a driver is missing.
  static std::unique_ptr<Nvml> open(const char* library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;
  // The version of CUDA that the driver can run: "13.0".
  std::string cuda_version() const;
  const std::vector<Gpu>& gpus() const;
  // Of the i-th of gpus().
  GpuUsage usage(size_t i) const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
  std::vector<Gpu> gpus_;
  std::vector<void*> devices_;  // the library's handle of each
};

}  // namespace exprun
