// A library that stands in for NVIDIA's, libnvidia-ml.so.1: a machine with two GPUs, of which the
// second can say little, as an old one or a slice of one; FAKE_NVML_GPUS=4 adds two. With
// FAKE_NVML_WITHOUT_DRIVER set it is a library without a driver; with FAKE_NVML_OLD_DRIVER its
// driver is of CUDA 12's time; with FAKE_NVML_CUT the first GPU is cut into MIG instances;
// FAKE_NVML_START_MS is how long a driver takes to answer first.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr int kSuccess = 0, kNotSupported = 3, kNotFound = 6, kNoDriver = 9;

struct Fake {
  const char *name, *uuid;
  bool old;
};
Fake gpus[] = {{"NVIDIA Fake 80GB", "GPU-11111111-aaaa", false},
               {"NVIDIA Old", "GPU-22222222-bbbb", true},
               {"NVIDIA Fake 80GB", "GPU-44444444-dddd", false},
               {"NVIDIA Fake 80GB", "GPU-55555555-eeee", false}};
Fake instance = {"NVIDIA Fake 80GB MIG 1g.10gb", "MIG-33333333-cccc", false};

unsigned number_of_gpus() {
  const char* const number = std::getenv("FAKE_NVML_GPUS");
  return number ? static_cast<unsigned>(std::atoi(number)) : 2;
}

template <typename Number>
int answer(const void* gpu, Number* place, Number value) {
  if (static_cast<const Fake*>(gpu)->old) return kNotSupported;
  *place = value;
  return kSuccess;
}

int copy(char* text, unsigned size, const char* from) {
  std::snprintf(text, size, "%s", from);
  return kSuccess;
}

}  // namespace

extern "C" {

struct MemoryOfGpu {
  unsigned long long total, free, used;
};
struct UtilizationOfGpu {
  unsigned gpu, memory;
};

int nvmlInit_v2() {
  if (const char* start = std::getenv("FAKE_NVML_START_MS"))
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(start)));
  return std::getenv("FAKE_NVML_WITHOUT_DRIVER") ? kNoDriver : kSuccess;
}
int nvmlShutdown() {
  return kSuccess;
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return copy(text, size, std::getenv("FAKE_NVML_OLD_DRIVER") ? "535.104.05" : "580.65.06");
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = std::getenv("FAKE_NVML_OLD_DRIVER") ? 12020 : 13000;
  return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = number_of_gpus();
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** gpu) {
  if (index >= number_of_gpus()) return kNotFound;
  *gpu = &gpus[index];
  return kSuccess;
}
int nvmlDeviceGetName(const void* gpu, char* text, unsigned size) {
  return copy(text, size, static_cast<const Fake*>(gpu)->name);
}
int nvmlDeviceGetUUID(const void* gpu, char* text, unsigned size) {
  return copy(text, size, static_cast<const Fake*>(gpu)->uuid);
}
int nvmlDeviceGetMaxMigDeviceCount(const void* gpu, unsigned* count) {
  return answer(gpu, count, 7U);
}
int nvmlDeviceGetMigDeviceHandleByIndex(const void* gpu, unsigned index, void** found) {
  if (!std::getenv("FAKE_NVML_CUT") || index != 2) return kNotFound;
  return answer(gpu, found, static_cast<void*>(&instance));
}
int nvmlDeviceGetEnforcedPowerLimit(const void* gpu, unsigned* milliwatts) {
  return answer(gpu, milliwatts, 700'000U);
}
int nvmlDeviceGetMemoryInfo(const void*, MemoryOfGpu* memory) {
  *memory = {80ULL << 30, 79ULL << 30, 1ULL << 30};
  return kSuccess;
}
int nvmlDeviceGetUtilizationRates(const void* gpu, UtilizationOfGpu* utilization) {
  return answer(gpu, utilization, {97, 41});
}
int nvmlDeviceGetPowerUsage(const void* gpu, unsigned* milliwatts) {
  return answer(gpu, milliwatts, 612'500U);
}
int nvmlDeviceGetClockInfo(const void* gpu, int clock, unsigned* mhz) {
  return answer(gpu, mhz, clock == 1 ? 1980U : 2619U);
}
int nvmlDeviceGetTemperature(const void*, int, unsigned* celsius) {
  *celsius = 64;
  return kSuccess;
}
// By the name that drivers had first; the newer one is nvmlDeviceGetCurrentClocksEventReasons.
int nvmlDeviceGetCurrentClocksThrottleReasons(const void* gpu, unsigned long long* reasons) {
  return answer(gpu, reasons, 0x24ULL);  // power cap and temperature
}

}  // extern "C"
