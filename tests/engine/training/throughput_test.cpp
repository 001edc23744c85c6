#include "engine/record/throughput.h"

#include <doctest/doctest.h>

#include "support/sections.h"

using namespace exprun;

TEST_CASE("mfu: is the model's arithmetic over the device's peak, with its convention named") {
  // GPT-2 124M at 1,024 tokens: 855 MFLOP a token by convention P; 467,900 tokens/s on an H100.
  const Mfu mfu{855e6, *known_peak("NVIDIA H100 80GB HBM3", "bf16", 1)};
  CHECK(mfu.of(467'900) == doctest::Approx(0.4045).epsilon(1e-3));
  CHECK(mfu.text(467'900) == "MFU 40.5% (convention P, peak 989 TFLOP/s)");
}

TEST_CASE("mfu: a device that is not known has no peak") {
  CHECK(known_peak("NVIDIA H100 PCIe", "fp16", 1)->flops == 756e12);
  CHECK(known_peak("NVIDIA A100-SXM4-40GB", "bf16", 8)->flops == 8 * 312e12);
  CHECK(known_peak("NVIDIA A100-SXM4-40GB", "fp32", 2)->flops == 2 * 19.5e12);
  CHECK(known_peak("NVIDIA H200", "tf32", 1)->flops == 494.7e12);
  CHECK_FALSE(known_peak("AMD EPYC 9554", "bf16", 1));
}

TEST_CASE("mfu: a CPU's peak is an estimate that says what it takes for granted") {
  const Mfu mfu{1e6, *estimated_peak(NumericEnvironment{2, "AVX512", "", "", ""}, 4, 2.5e9)};
  CHECK(mfu.peak.flops == doctest::Approx(320e9));
  CHECK(mfu.text(32'000) ==
        "MFU 10.0% (convention P, peak 0.32 TFLOP/s, estimated: fp32, 1 rank x 2 cores x 2.5 GHz "
        "x 2 units x 2 operations x 16 lanes)");
  CHECK_FALSE(estimated_peak(NumericEnvironment{2, "DEFAULT", "", "", ""}, 4, 2.5e9));
  CHECK_FALSE(estimated_peak(NumericEnvironment{2, "AVX2", "", "", ""}, 4, 0));
}

TEST_CASE(
    "mfu: the peak of several ranks is that of their cores, however many threads share them") {
  const Mfu mfu{1e6, *estimated_peak(NumericEnvironment{64, "AVX2", "", "", "", 3}, 1, 2.4456e9)};
  CHECK(mfu.peak.flops == doctest::Approx(3 * 2.4456e9 * 32));
  CHECK(mfu.text(23'477.76) ==
        "MFU 10.0% (convention P, peak 0.2348 TFLOP/s, estimated: fp32, 3 ranks x 1 core x 2.446 "
        "GHz x 2 units x 2 operations x 8 lanes)");
}

TEST_CASE("mfu: a given peak is of a GPU, or of a machine, whatever ranks share its cores") {
  const auto recipe = recipe_with("schedule", "constant", "[metrics]\npeak_tflops = 0.5\n");
  const NumericEnvironment four_ranks{2, "AVX2", "", "", "", 4};
  CHECK(peak_of(recipe, four_ranks, {1, 1})->flops == 0.5e12);
  CHECK(peak_of(recipe, four_ranks, {2, 2})->flops == 1e12);
}
