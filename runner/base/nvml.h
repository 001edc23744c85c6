// NVIDIA's management library, opened at run time: what GPUs there are. A machine without
// it has none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace exprun {

struct Gpu {
  std::string name, uuid;
  int64_t memory_bytes = 0;
  double power_limit_watts = 0;
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

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
  std::vector<Gpu> gpus_;
};

}  // namespace exprun
