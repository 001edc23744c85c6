#include "engine/mfu.h"

#include <doctest/doctest.h>

using namespace exprun;

TEST_CASE("mfu: is the model's arithmetic over the device's peak, with its convention named") {
  // GPT-2 124M at 1,024 tokens: 855 MFLOP a token by convention P; 467,900 tokens/s on an H100.
  const Mfu mfu{855e6, *known_peak_flops("NVIDIA H100 80GB HBM3")};
  CHECK(mfu.of(467'900) == doctest::Approx(0.4045).epsilon(1e-3));
  CHECK(mfu.text(467'900) == "MFU 40.5 % (convention P, peak 989 TFLOP/s)");
}

TEST_CASE("mfu: a device that is not known has no peak") {
  CHECK(known_peak_flops("NVIDIA H100 PCIe") == 756e12);
  CHECK(known_peak_flops("NVIDIA A100-SXM4-40GB") == 312e12);
  CHECK(known_peak_flops("AMD EPYC 9554") == std::nullopt);
}
