#include "base/machine/gpus.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>

namespace exprun {
namespace {

// As in nvml.h, which is not needed to build: its C interface keeps these for ever.
using Device = void*;
using Result = int;
constexpr Result kSuccess = 0;
constexpr size_t kTextBytes = 96;

struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;  // percent
};
constexpr int kSmClock = 1, kMemoryClock = 2;  // nvmlClockType_t
constexpr int kGpuSensor = 0;                  // nvmlTemperatureSensors_t

// A function of the library that may be missing: an old driver lacks some.
template <typename... Parameters>
class Function {
 public:
  // By the first name that the library has.
  void find(void* library, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (function_ == nullptr)
        function_ = reinterpret_cast<Result (*)(Parameters...)>(::dlsym(library, name));
  }
  bool operator()(Parameters... parameters) const {
    return function_ != nullptr && function_(parameters...) == kSuccess;
  }

 private:
  Result (*function_)(Parameters...) = nullptr;
};

using TextOfDevice = Function<Device, char*, unsigned>;
using NumberOfDevice = Function<Device, unsigned*>;

std::string text_of(const TextOfDevice& function, Device device) {
  std::array<char, kTextBytes> text = {};
  return function(device, text.data(), kTextBytes) ? text.data() : "";
}

// A number that the library gives by its last argument.
template <typename Number, typename... All, typename... Known>
std::optional<double> asked(const Function<All...>& function, Known... known) {
  Number number{};
  if (!function(known..., &number)) return std::nullopt;
  return static_cast<double>(number);
}

std::optional<double> watts_of(const NumberOfDevice& milliwatts, Device device) {
  const auto value = asked<unsigned>(milliwatts, device);
  return value ? std::optional(*value * 1e-3) : std::nullopt;
}

constexpr const char* kGpu = "GPU-";
constexpr const char* kInstance = "MIG-";

// As strtol reads it: "1", " 1", and "1st" too.
std::optional<size_t> by_index(const std::vector<Gpu>& gpus, const std::string& entry) {
  char* end = nullptr;
  const long index = std::strtol(entry.c_str(), &end, 10);
  if (end == entry.c_str() || index < 0 || static_cast<size_t>(index) >= gpus.size())
    return std::nullopt;
  return static_cast<size_t>(index);
}

template <class Fits>
std::optional<size_t> the_only_one(const std::vector<Gpu>& gpus, Fits fits) {
  const auto found = std::find_if(gpus.begin(), gpus.end(), fits);
  if (found == gpus.end() || std::find_if(found + 1, gpus.end(), fits) != gpus.end())
    return std::nullopt;
  return static_cast<size_t>(found - gpus.begin());
}

std::optional<size_t> by_uuid(const std::vector<Gpu>& gpus, const std::string& entry) {
  if (!entry.starts_with(kGpu)) return std::nullopt;
  return the_only_one(gpus, [&](const Gpu& gpu) { return gpu.uuid.starts_with(entry); });
}

// "MIG-<uuid>", or "MIG-GPU-<uuid of its GPU>/1/0" as older drivers name it.
std::optional<size_t> by_instance(const std::vector<Gpu>& gpus, const std::string& entry) {
  if (!entry.starts_with(kInstance)) return std::nullopt;
  const std::string name = entry.substr(4, entry.find('/') - 4);
  return the_only_one(gpus, [&](const Gpu& gpu) {
    const auto is_named = [&](const std::string& uuid) { return uuid.starts_with(entry); };
    return std::any_of(gpu.instances.begin(), gpu.instances.end(), is_named) ||
           (name.starts_with(kGpu) && !gpu.instances.empty() && gpu.uuid == name);
  });
}

// The first entry says what all are.
std::vector<size_t> named(const std::vector<Gpu>& gpus, const std::string& list) {
  const auto find = list.starts_with(kGpu)        ? by_uuid
                    : list.starts_with(kInstance) ? by_instance
                                                  : by_index;
  std::vector<size_t> found;
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const auto gpu = find(gpus, entry);
    if (!gpu) break;
    const bool again = std::find(found.begin(), found.end(), *gpu) != found.end();
    if (again && find != by_instance) return {};  // two instances may be of one GPU
    found.push_back(*gpu);
  }
  return found;
}

std::vector<size_t> all_of(const std::vector<Gpu>& gpus) {
  std::vector<size_t> all(gpus.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

}  // namespace

struct Nvml::Library {
  explicit Library(void* opened) : handle(opened) {
    init.find(handle, {"nvmlInit_v2"});
    shutdown.find(handle, {"nvmlShutdown"});
    driver_version.find(handle, {"nvmlSystemGetDriverVersion"});
    cuda_version.find(handle, {"nvmlSystemGetCudaDriverVersion_v2"});
    count.find(handle, {"nvmlDeviceGetCount_v2"});
    by_index.find(handle, {"nvmlDeviceGetHandleByIndex_v2"});
    name.find(handle, {"nvmlDeviceGetName"});
    uuid.find(handle, {"nvmlDeviceGetUUID"});
    power_limit.find(handle, {"nvmlDeviceGetEnforcedPowerLimit"});
    memory.find(handle, {"nvmlDeviceGetMemoryInfo"});
    most_instances.find(handle, {"nvmlDeviceGetMaxMigDeviceCount"});
    instance.find(handle, {"nvmlDeviceGetMigDeviceHandleByIndex"});
    utilization.find(handle, {"nvmlDeviceGetUtilizationRates"});
    power.find(handle, {"nvmlDeviceGetPowerUsage"});
    clock.find(handle, {"nvmlDeviceGetClockInfo"});
    temperature.find(handle, {"nvmlDeviceGetTemperature"});
    throttle_reasons.find(handle, {"nvmlDeviceGetCurrentClocksEventReasons",
                                   "nvmlDeviceGetCurrentClocksThrottleReasons"});
  }
  ~Library() {
    shutdown();
    ::dlclose(handle);
  }

  // Of a GPU's MIG instances; their places may be empty.
  std::vector<std::string> uuids_of_instances(Device device) const {
    std::vector<std::string> uuids;
    unsigned most = 0;
    if (!most_instances(device, &most)) return uuids;
    for (unsigned i = 0; i < most; ++i)
      if (Device found = nullptr; instance(device, i, &found))
        uuids.push_back(text_of(uuid, found));
    return uuids;
  }

  void* handle;
  Function<> init, shutdown;
  Function<char*, unsigned> driver_version;
  Function<int*> cuda_version;
  Function<unsigned*> count;
  Function<unsigned, Device*> by_index;
  TextOfDevice name, uuid;
  NumberOfDevice power_limit, power;
  Function<Device, Memory*> memory;
  NumberOfDevice most_instances;
  Function<Device, unsigned, Device*> instance;
  Function<Device, Utilization*> utilization;
  Function<Device, int, unsigned*> clock, temperature;
  Function<Device, unsigned long long*> throttle_reasons;
};

std::unique_ptr<Nvml> Nvml::open(const char* library) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  auto opened = std::make_unique<Library>(handle);
  if (!opened->init()) return nullptr;  // the library without a driver
  return std::unique_ptr<Nvml>(new Nvml(std::move(opened)));
}

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {
  unsigned count = 0;
  if (!library_->count(&count)) return;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (!library_->by_index(i, &device)) continue;
    Memory memory{};
    library_->memory(device, &memory);
    gpus_.push_back({text_of(library_->name, device), text_of(library_->uuid, device),
                     static_cast<int64_t>(memory.total),
                     watts_of(library_->power_limit, device).value_or(0),
                     library_->uuids_of_instances(device)});
    devices_.push_back(device);
  }
}

Nvml::~Nvml() = default;

const std::vector<Gpu>& Nvml::gpus() const {
  return gpus_;
}

GpuUsage Nvml::usage(size_t i) const {
  const Device device = devices_.at(i);
  GpuUsage usage;
  Utilization utilization{};
  if (library_->utilization(device, &utilization)) usage.utilization_percent = utilization.gpu;
  Memory memory{};
  if (library_->memory(device, &memory)) usage.memory_bytes = static_cast<double>(memory.used);
  usage.power_watts = watts_of(library_->power, device);
  usage.sm_clock_mhz = asked<unsigned>(library_->clock, device, kSmClock);
  usage.memory_clock_mhz = asked<unsigned>(library_->clock, device, kMemoryClock);
  usage.temperature_celsius = asked<unsigned>(library_->temperature, device, kGpuSensor);
  usage.throttle_reasons = asked<unsigned long long>(library_->throttle_reasons, device);
  return usage;
}

std::string Nvml::driver_version() const {
  std::array<char, kTextBytes> text = {};
  return library_->driver_version(text.data(), kTextBytes) ? text.data() : "";
}

std::string Nvml::cuda_version() const {
  int version = 0;  // 1000 * major + 10 * minor
  if (!library_->cuda_version(&version)) return "";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::vector<size_t> visible_gpus(const std::vector<Gpu>& gpus, const char* list) {
  std::vector<size_t> visible = list ? named(gpus, list) : all_of(gpus);
  const auto cut = std::find_if(visible.begin(), visible.end(),
                                [&](size_t gpu) { return !gpus[gpu].instances.empty(); });
  if (cut != visible.end()) return {*cut};
  return visible;
}

}  // namespace exprun
