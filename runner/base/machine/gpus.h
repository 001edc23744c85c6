// The GPUs of this machine: what they are and do, and which of them a process may use.
#pragma once

#include <cstddef>
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

// At this moment; utilization is of the library's last sampling period (a second or less). What a
// GPU or an old driver cannot say is absent.
struct GpuUsage {
  std::optional<double> utilization_percent;  // of the time, in which a kernel ran
  std::optional<double> memory_bytes;         // taken, by all processes
  std::optional<double> power_watts;
  std::optional<double> sm_clock_mhz, memory_clock_mhz;
  std::optional<double> temperature_celsius;
  std::optional<double> throttle_reasons;  // bits, as nvmlClocksThrottleReasons of nvml.h
};

// NVIDIA's management library, opened at run time. A machine without it has none.
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

// Which GPUs a process may use, as CUDA's run-time library reads CUDA_VISIBLE_DEVICES: numbers in
// `gpus`, in the order of `list`: indices, or beginnings of uuids that fit one GPU; null
// (not set) is all. The first entry that names nothing ends the list; a GPU that is named twice
// empties it. A process sees one MIG instance at most, and beside it no other GPU. (CUDA's
// programming guide, "CUDA environment variables"; NVIDIA's MIG user guide, "CUDA device
// enumeration".)
//
// Indices are those of the PCI bus, which CUDA_DEVICE_ORDER=PCI_BUS_ID makes CUDA's too; where GPUs
// of several kinds are in another order, an index may mean another one of them.
std::vector<size_t> visible_gpus(const std::vector<Gpu>& gpus, const char* list);

}  // namespace exprun
