#include "engine/mfu.h"

#include <doctest/doctest.h>

using namespace exprun;

TEST_CASE("mfu: is the model's arithmetic over the device's peak, with its convention named") {
  // GPT-2 124M at 1,024 tokens: 855 MFLOP a token by convention P; 467,900 tokens/s on an H100.
  const Mfu mfu{855e6, *known_peak("NVIDIA H100 80GB HBM3")};
  CHECK(mfu.of(467'900) == doctest::Approx(0.4045).epsilon(1e-3));
  CHECK(mfu.text(467'900) == "MFU 40.5 % (convention P, peak 989 TFLOP/s)");
}

TEST_CASE("mfu: a device that is not known has no peak") {
  CHECK(known_peak("NVIDIA H100 PCIe")->flops == 756e12);
  CHECK(known_peak("NVIDIA A100-SXM4-40GB")->flops == 312e12);
  CHECK_FALSE(known_peak("AMD EPYC 9554"));
}

TEST_CASE("mfu: a CPU's peak is an estimate that says what it takes for granted") {
  // 2 threads at 2.5 GHz: 2 units of 16 lanes, 2 operations each, are 64 a cycle.
  const Mfu mfu{1e6, estimated_peak(16, 2, 2.5e9)};
  CHECK(mfu.peak.flops == doctest::Approx(320e9));
  CHECK(mfu.text(32'000) ==
        "MFU 10.0 % (convention P, peak 0.32 TFLOP/s, estimated: fp32, 2 x 2.5 GHz x 2 x 16 "
        "lanes)");
  CHECK_FALSE(estimated_peak(Machine{2, "DEFAULT", "", "", ""}));
}
