// NVML against a library that stands in for NVIDIA's (tests/support/nvml).
#include "base/machine/gpus.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "base/machine/system_usage.h"

using namespace exprun;

namespace {

using Numbers = std::vector<size_t>;

Gpu gpu(const std::string& uuid, std::vector<std::string> instances = {}) {
  return {"a GPU", uuid, 0, 0, std::move(instances)};
}

const std::vector<Gpu> kGpus{gpu("GPU-1111"), gpu("GPU-2222"), gpu("GPU-2333")};

// The last of three is cut in two.
const std::vector<Gpu> kCut{gpu("GPU-1111"), gpu("GPU-2222"),
                            gpu("GPU-2333", {"MIG-aaaa", "MIG-abbb"})};

}  // namespace

TEST_CASE("nvml: a machine without the library, or with one but no driver, has no GPUs") {
  CHECK(Nvml::open("libnothing-of-this-name.so.1") == nullptr);
  ::setenv("FAKE_NVML_WITHOUT_DRIVER", "1", 1);
  CHECK(Nvml::open(EXPRUN_FAKE_NVML) == nullptr);
  ::unsetenv("FAKE_NVML_WITHOUT_DRIVER");
}

TEST_CASE("nvml: what GPUs there are") {
  const auto nvml = Nvml::open(EXPRUN_FAKE_NVML);
  REQUIRE(nvml);
  CHECK(nvml->driver_version() == "580.65.06");
  CHECK(nvml->cuda_version() == "13.0");
  REQUIRE(nvml->gpus().size() == 2);
  const Gpu& gpu = nvml->gpus()[0];
  CHECK(gpu.name == "NVIDIA Fake 80GB");
  CHECK(gpu.uuid == "GPU-11111111-aaaa");
  CHECK(gpu.memory_bytes == int64_t{80} << 30);
  CHECK(gpu.power_limit_watts == 700);
}

TEST_CASE("nvml: what a GPU does, and nothing in place of what it cannot say") {
  const auto nvml = Nvml::open(EXPRUN_FAKE_NVML);
  REQUIRE(nvml);
  const GpuUsage usage = nvml->usage(0);
  CHECK(usage.utilization_percent == 97);
  CHECK(usage.memory_bytes == 1 << 30);
  CHECK(usage.power_watts == 612.5);
  CHECK(usage.sm_clock_mhz == 1980);
  CHECK(usage.memory_clock_mhz == 2619);
  CHECK(usage.temperature_celsius == 64);
  CHECK(usage.throttle_reasons == 0x24);
  const GpuUsage old = nvml->usage(1);
  CHECK(!old.utilization_percent);
  CHECK(old.memory_bytes == 1 << 30);
  CHECK(!old.power_watts);
  CHECK(!old.sm_clock_mhz);
  CHECK(!old.memory_clock_mhz);
  CHECK(old.temperature_celsius == 64);
  CHECK(!old.throttle_reasons);
}

TEST_CASE("visible gpus: all where nothing is said, in the order of the list otherwise") {
  CHECK(visible_gpus(kGpus, nullptr) == Numbers{0, 1, 2});
  CHECK(visible_gpus(kGpus, "2,0") == Numbers{2, 0});
  CHECK(visible_gpus(kGpus, " 1, 2nd") == Numbers{1, 2});
  CHECK(visible_gpus(kGpus, "GPU-22,GPU-1111") == Numbers{1, 0});
  CHECK(visible_gpus({}, "0").empty());
}

TEST_CASE("visible gpus: an entry that names nothing ends the list") {
  for (const char* list : {"", "-1", "NoDevFiles", "3", "GPU-3", "GPU-2", "MIG-aaaa", " "})
    CHECK(visible_gpus(kGpus, list).empty());
  CHECK(visible_gpus(kGpus, "0,2,-1,1") == Numbers{0, 2});
  CHECK(visible_gpus(kGpus, "1,GPU-1111,2") == Numbers{1});
  CHECK(visible_gpus(kGpus, "GPU-1111,0") == Numbers{0});
}

TEST_CASE("visible gpus: one that is named twice leaves none") {
  CHECK(visible_gpus(kGpus, "0,1,0").empty());
  CHECK(visible_gpus(kGpus, "GPU-22,GPU-2222").empty());
}

TEST_CASE("visible gpus: of MIG instances a process sees one, and no GPU beside it") {
  CHECK(visible_gpus(kCut, nullptr) == Numbers{2});
  CHECK(visible_gpus(kCut, "0,1") == Numbers{0, 1});
  CHECK(visible_gpus(kCut, "0,2") == Numbers{2});
  CHECK(visible_gpus(kCut, "MIG-ab") == Numbers{2});
  CHECK(visible_gpus(kCut, "MIG-aaaa,MIG-abbb") == Numbers{2});
  CHECK(visible_gpus(kCut, "MIG-GPU-2333/1/0") == Numbers{2});
  CHECK(visible_gpus(kCut, "MIG-GPU-1111/1/0").empty());
  CHECK(visible_gpus(kCut, "MIG-cccc").empty());
}
