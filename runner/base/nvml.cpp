#include "base/nvml.h"

#include <dlfcn.h>

#include <array>

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

// A function of the library that may be missing: an old driver lacks some.
template <typename... Parameters>
class Function {
 public:
  void find(void* library, const char* name) {
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

double watts_of(const NumberOfDevice& milliwatts, Device device) {
  unsigned value = 0;
  return milliwatts(device, &value) ? value * 1e-3 : 0;
}

}  // namespace

struct Nvml::Library {
  explicit Library(void* opened) : handle(opened) {
    init.find(handle, "nvmlInit_v2");
    shutdown.find(handle, "nvmlShutdown");
    driver_version.find(handle, "nvmlSystemGetDriverVersion");
    cuda_version.find(handle, "nvmlSystemGetCudaDriverVersion_v2");
    count.find(handle, "nvmlDeviceGetCount_v2");
    by_index.find(handle, "nvmlDeviceGetHandleByIndex_v2");
    name.find(handle, "nvmlDeviceGetName");
    uuid.find(handle, "nvmlDeviceGetUUID");
    power_limit.find(handle, "nvmlDeviceGetEnforcedPowerLimit");
    memory.find(handle, "nvmlDeviceGetMemoryInfo");
  }
  ~Library() {
    shutdown();
    ::dlclose(handle);
  }

  void* handle;
  Function<> init, shutdown;
  Function<char*, unsigned> driver_version;
  Function<int*> cuda_version;
  Function<unsigned*> count;
  Function<unsigned, Device*> by_index;
  TextOfDevice name, uuid;
  NumberOfDevice power_limit;
  Function<Device, Memory*> memory;
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
                     static_cast<int64_t>(memory.total), watts_of(library_->power_limit, device)});
  }
}

Nvml::~Nvml() = default;

const std::vector<Gpu>& Nvml::gpus() const {
  return gpus_;
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

}  // namespace exprun
