// Against a library that stands in for NVIDIA's (tests/support/nvml).
#include "base/machine/nvml.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "base/machine/system_usage.h"

using namespace exprun;

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
  CHECK(usage.utilisation_percent == 97);
  CHECK(usage.memory_bytes == 1 << 30);
  CHECK(usage.power_watts == 612.5);
  CHECK(usage.sm_clock_mhz == 1980);
  CHECK(usage.memory_clock_mhz == 2619);
  CHECK(usage.temperature_celsius == 64);
  CHECK(usage.throttle_reasons == 0x24);
  const GpuUsage old = nvml->usage(1);
  CHECK(!old.utilisation_percent);
  CHECK(old.memory_bytes == 1 << 30);
  CHECK(!old.power_watts);
  CHECK(!old.sm_clock_mhz);
  CHECK(!old.memory_clock_mhz);
  CHECK(old.temperature_celsius == 64);
  CHECK(!old.throttle_reasons);
}
