// What the engine does for GPUs, as far as a machine without one can tell.
#include "engine/device/device.h"

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <doctest/doctest.h>

#include <cmath>

#include "base/diagnostic.h"
#include "dist/group_by_device.h"
#include "engine/checkpoint/open_checkpoint.h"
#include "engine/dataset.h"
#include "engine/precision/precision.h"
#include "engine/precision/stochastic_rounding.h"
#include "engine/tiny_run.h"
#include "support/counted_group.h"

using namespace exprun;

namespace {

at::DeviceType chosen(const std::string& device) {
  const TinyRun run({"run.device='" + device + "'"});
  return chosen_device(run.recipe.section("run"));
}

void use_all(ProcessGroup& group, at::Device device) {
  const auto tensor = at::empty({6}, at::TensorOptions(device));
  group.all_reduce(tensor);
  group.reduce(tensor, 1);
  group.reduce_scatter(tensor.narrow(0, 0, 2), tensor);
  group.all_gather(tensor, tensor.narrow(0, 0, 2));
  group.broadcast(tensor, 0);
}

}  // namespace

TEST_CASE("device: a program without CUDA trains on the CPU, and says so to who wants a GPU") {
  CHECK((chosen("auto") == at::kCPU));
  CHECK((chosen("cpu") == at::kCPU));
  CHECK_THROWS_WITH_AS(
      chosen("cuda"),
      doctest::Contains("gpu: this exprun-trainer is built without CUDA; tools/exprun "
                        "builds exprun-trainer-cuda, which exprun starts on "
                        "machines with GPUs"),
      RecipeError);
  CHECK(device_name(at::kCPU) == "cpu");
}

TEST_CASE("device: a GPU's attention is cuDNN's where that can do it") {
  // No GPU answers here; what was set before it was asked stays.
  CHECK_THROWS(use_device(at::Device(at::kCUDA, 0), false));
  const auto order = at::globalContext().sDPPriorityOrder();
  CHECK((order[0] == at::SDPBackend::cudnn_attention));
  CHECK((order[1] == at::SDPBackend::flash_attention));
  CHECK((order[2] == at::SDPBackend::efficient_attention));
  CHECK((order[3] == at::SDPBackend::math));
}

TEST_CASE("device: where no pinned memory can be had, a copy goes to other memory") {
  const at::Device gpu(at::kCUDA, 0);  // without CUDA nothing is pinned
  const at::Tensor memory = host_memory({2, 3}, at::TensorOptions(gpu).dtype(at::kDouble));
  CHECK(memory.device().is_cpu());
  CHECK(memory.numel() == 6);
  CHECK((memory.scalar_type() == at::kDouble));
}

TEST_CASE("device: a rank's GPU is the only one that it sees, or the one of its number") {
  CHECK(gpu_of_rank(0, 1) == 0);
  CHECK(gpu_of_rank(5, 1) == 0);
  CHECK(gpu_of_rank(3, 4) == 3);
  CHECK_THROWS_WITH_AS(gpu_of_rank(4, 4),
                       "gpu: rank 4 of this host has no GPU: 4 can be used; start fewer ranks, "
                       "or make more visible (CUDA_VISIBLE_DEVICES)",
                       Error);
}

TEST_CASE("device: the memory of a CPU is the process's") {
  const DeviceMemory memory = device_memory(at::kCPU);
  CHECK(memory.allocated > 1 << 20);
  CHECK(memory.peak >= memory.allocated);
  CHECK(memory.total > memory.peak);
}

TEST_CASE("device: tensors of a GPU and of a CPU go through groups of their own") {
  int by_cpus = 0, by_gpus = 0;
  const auto group = group_by_device(std::make_unique<CountedGroup>(imagined_ranks(3), by_cpus),
                                     std::make_unique<CountedGroup>(imagined_ranks(3), by_gpus));
  CHECK(group->rank() == 0);
  CHECK(group->world_size() == 3);
  use_all(*group, at::kCPU);
  CHECK(by_cpus == 5);
  CHECK(by_gpus == 0);
  use_all(*group, at::kMeta);  // stands in for a GPU
  CHECK(by_cpus == 5);
  CHECK(by_gpus == 5);
  sum_over_ranks(*group, {1});  // nobody waits for a device
  CHECK(by_cpus == 6);
}

TEST_CASE("device: formats that a GPU has not") {
  const auto checked = [](const std::string& compute, int capability) {
    const TinyRun run({"precision.compute='" + compute + "'"});
    return check_formats(run.recipe.section("precision"),
                         GpuFacts{"Tesla V100", "GPU-1", 16 << 20, capability});
  };
  for (const char* format : {"fp32", "tf32", "bf16", "fp16"}) CHECK_FALSE(checked(format, 80));
  CHECK_FALSE(checked("fp16", 70));
  CHECK(checked("bf16", 70) ==
        "Tesla V100 has no bf16 instructions: bf16 is emulated and slower than fp16");
  CHECK_THROWS_WITH_AS(
      checked("tf32", 70),
      doctest::Contains("Tesla V100 has no TF32: it needs an NVIDIA GPU of Ampere or later"),
      RecipeError);
}

TEST_CASE("device: a batch is the same elsewhere") {
  const Batch batch{at::zeros({2, 3}, at::kLong), at::zeros({2, 3}, at::kLong), 7};
  CHECK(batch.on(at::kCPU).inputs.is_same(batch.inputs));
  const Batch there = batch.on(at::kMeta);
  CHECK(there.inputs.is_meta());
  CHECK(there.targets.sizes() == batch.targets.sizes());
  CHECK(there.largest_token == 7);
}

TEST_CASE("device: the noise of rounding is a function of key and place") {
  const auto noise = hashed_noise(0, 100'000, 42, at::kCPU);
  CHECK((noise.scalar_type() == at::kInt));
  CHECK(noise.min().item<int64_t>() >= 0);
  CHECK(noise.max().item<int64_t>() < 1 << 16);
  CHECK(noise.to(at::kDouble).mean().item<double>() == doctest::Approx(32767.5).epsilon(0.01));
  for (const int bit : {1, 256, 32768})  // each of them half of the time
    CHECK(noise.bitwise_and(bit).ne(0).to(at::kDouble).mean().item<double>() ==
          doctest::Approx(0.5).epsilon(0.02));
  CHECK(at::equal(noise.narrow(0, 700, 50), hashed_noise(700, 50, 42, at::kCPU)));
  const auto other = hashed_noise(0, 100'000, uint64_t{42} | uint64_t{1} << 40, at::kCPU);
  CHECK(other.eq(noise).sum().item<int64_t>() < 20);
  const auto centred = noise.to(at::kDouble).sub(32767.5);
  const auto product = centred.narrow(0, 1, 99'999).mul(centred.narrow(0, 0, 99'999)).mean();
  CHECK(std::abs(product.item<double>()) < 0.02 * 65536.0 * 65536.0 / 12);  // neighbours
}

TEST_CASE("device: a resume says what may change bits on a GPU") {
  NumericEnvironment then, now;
  now.device = "NVIDIA H200";
  CHECK(bits_may_differ(then, now) ==
        "results may not be bit-identical to those of an uninterrupted run; the device was cpu and "
        "is now NVIDIA H200");
  CHECK(bits_may_differ(now, now, /*kernels_repeat=*/false) ==
        "results may not be bit-identical to those of an uninterrupted run; GPU kernels are "
        "reproducible only with run.deterministic = true");
  CHECK(bits_may_differ(now, now).empty());
}
