// Whom machine_problems() and memory_problems() complain of; what they say is in tests/errors.
#include "control/launch/machine_problems.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "tests/unit/recipe/recipes.h"

using namespace exprun;

namespace {

const GpuOffer kNoGpus{{}, "this machine has no NVIDIA driver", "run.device=cpu trains on the CPU"};
const GpuOffer kTwoGpus{
    {{"NVIDIA H200", "GPU-1", int64_t{4} << 30}, {"NVIDIA H200", "GPU-2", int64_t{4} << 30}},
    "",
    ""};

Hardware hardware(const std::string& processor, const GpuOffer& gpus = kNoGpus) {
  return {4, processor, 8e9, gpus};
}

bool is_fine(const std::string& override_, const Hardware& hardware) {
  return machine_problems(resolve_tiny({override_}), hardware).empty();
}

bool fits(std::vector<std::string> overrides, const PlannedMemory& planned, const Hardware& there) {
  return !has_errors(memory_problems(resolve_tiny(std::move(overrides)), planned, there));
}

}  // namespace

TEST_CASE("machine problems: a thread a core") {
  CHECK(is_fine("threads=4", hardware("")));
  CHECK_FALSE(is_fine("threads=5", hardware("")));
}

TEST_CASE("machine problems: the ranks share the memory, and what is not known is enough") {
  CHECK(fits({"world_size=2"}, {3e9, 1e9}, hardware("")));
  CHECK_FALSE(fits({"world_size=4"}, {3e9, 1e9}, hardware("")));
  CHECK(fits({}, {1e15, 0}, {4, "", 0, kNoGpus}));
}

TEST_CASE("machine problems: rank 0 alone copies its state, and not while it computes") {
  CHECK(fits({"world_size=2"}, {3e9, 1e9, 1e9}, hardware("")));
  CHECK(fits({"world_size=2"}, {3e9, 0, 2e9}, hardware("")));
  CHECK_FALSE(fits({"world_size=2"}, {3e9, 0, 2.1e9}, hardware("")));
  CHECK_FALSE(fits({}, {6e9, 0, 3e9}, hardware("")));
}

TEST_CASE("machine problems: a copy that is written while the next step is trained may not fit") {
  const auto warns = [](double activations, double copy) {
    return !memory_problems(resolve_tiny({}), {3e9, activations, copy}, hardware("")).empty();
  };
  CHECK_FALSE(warns(2e9, 3e9));
  CHECK(warns(3e9, 3e9));
  CHECK(fits({}, {3e9, 3e9, 3e9}, hardware("")));
}

TEST_CASE("machine problems: more ranks than GPUs train on the CPU unless GPUs are asked for") {
  const auto on_cpu = [](std::vector<std::string> overrides, const GpuOffer& gpus) {
    return trains_on_cpu(resolve_tiny(std::move(overrides)), gpus);
  };
  CHECK(on_cpu({}, kNoGpus));
  CHECK_FALSE(on_cpu({"device=cuda"}, kNoGpus));
  CHECK_FALSE(on_cpu({"world_size=2"}, kTwoGpus));
  CHECK(on_cpu({"world_size=4"}, kTwoGpus));
  CHECK(on_cpu({"device=cpu"}, kTwoGpus));
  CHECK_FALSE(on_cpu({"world_size=4", "device=cuda"}, kTwoGpus));
  CHECK(fits({"world_size=4"}, {1.9e9, 0}, hardware("", kTwoGpus)));  // in the machine's memory
  CHECK_FALSE(fits({"world_size=4"}, {3e9, 0}, hardware("", kTwoGpus)));
}

TEST_CASE("machine problems: a rank has a GPU's memory for itself") {
  CHECK(fits({"world_size=2"}, {4e9, 0}, hardware("", kTwoGpus)));
  CHECK_FALSE(fits({}, {4e9, 1e9}, hardware("", kTwoGpus)));
}

TEST_CASE("machine problems: few tokens that a large model is evaluated on take time, too") {
  DatasetInfo data;
  data.validation_tokens = 5000;
  const auto count = [&](double flops_per_token, const GpuOffer& gpus) {
    const auto recipe = resolve_tiny({"steps=10", "+evaluation.val_loss.every='1 step'"}, data);
    return evaluation_problems(recipe, data, flops_per_token, hardware("", gpus)).size();
  };
  CHECK(count(1e6, kNoGpus) == 0);
  CHECK(count(5e8, kNoGpus) == 1);
  CHECK(count(5e8, kTwoGpus) == 0);
  CHECK(count(5e11, kTwoGpus) == 1);
}

TEST_CASE("machine problems: formats of numbers") {
  CHECK(is_fine("compute=fp32", hardware("fma avx2")));
  CHECK(is_fine("compute=bf16", hardware("amx_bf16")));
  CHECK_FALSE(is_fine("compute=bf16", hardware("fma avx2")));
  CHECK(is_fine("compute=fp16", hardware("avx512_fp16 avx2")));
  CHECK(is_fine("compute=tf32", hardware("fma avx2", kTwoGpus)));
  CHECK_FALSE(is_fine("compute=tf32", hardware("fma avx2")));
}

TEST_CASE("machine problems: GPUs that a recipe asks for") {
  CHECK(is_fine("device=cuda", hardware("", kTwoGpus)));
  CHECK(is_fine("device=auto", hardware("")));
  CHECK_FALSE(is_fine("device=cuda", hardware("")));
}
