#include "control/launch/machine_limits.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"

using namespace exprun;

namespace {

ResolvedRecipe recipe(std::vector<std::string> overrides) {
  const std::string text =
      "[run]\nsteps = 10\n"
      "[model]\ntype = \"gpt\"\nnum_layers = 2\nnum_heads = 2\nhidden_size = 16\n"
      "context_length = 8\n"
      "[dataset]\ntype = \"text\"\npath = \"a.txt\"\n"
      "[batch]\nsequences = 2\n[optimizer]\ntype = \"adamw\"\nlr = 1e-3\n";
  return resolve(
      {{std::make_shared<SourceFile>(SourceFile{"tiny.toml", text})}, std::move(overrides)});
}

std::string said(const std::string& override_, const Hardware& hardware) {
  return render(machine_problems(recipe({override_}), hardware));
}

const GpuOffer kNoGpus{{}, "this machine has no NVIDIA driver", "run.device=cpu trains on the CPU"};
const GpuOffer kTwoGpus{
    {{"NVIDIA H200", "GPU-1", int64_t{4} << 30}, {"NVIDIA H200", "GPU-2", int64_t{4} << 30}},
    "",
    ""};
const Hardware kPlain{4, "fma avx2", 8e9, kNoGpus};

}  // namespace

TEST_CASE("machine limits: threads and cores") {
  CHECK(said("threads=4", kPlain).empty());
  CHECK(said("threads=5", kPlain) ==
        "<override 1>:1:9: warning: 5 threads on 4 cores wait for each other\n"
        "    threads=5\n"
        "            ^ \"auto\" takes one a core\n");
}

TEST_CASE("machine limits: memory") {
  const auto said_of = [](const std::string& override_, const PlannedMemory& planned) {
    return render(memory_problems(recipe({override_}), planned, {4, "", 8e9, kNoGpus}));
  };
  CHECK(said_of("world_size=2", {3e9, 1e9}).empty());
  CHECK(said_of("model.type=gpt", {9e9, 0}) ==
        "<override 1>:1:12: warning: weights, gradients and optimizer take 8.38 GiB, and this "
        "machine has 7.45 GiB\n"
        "    model.type=gpt\n"
        "               ^^^ a smaller model fits\n");
  CHECK(said_of("micro_batch=2", {3e9, 6e9}) ==
        "<override 1>:1:13: warning: the run takes about 8.38 GiB, and this machine has 7.45 GiB\n"
        "    micro_batch=2\n"
        "                ^ fewer sequences in a micro-batch take less\n");
  CHECK(said_of("micro_batch=1", {3e9, 6e9}) ==
        "tiny.toml:12:2: warning: the run takes about 8.38 GiB, and this machine has 7.45 GiB\n"
        "    [batch]\n"
        "     ^^^^^ shorter sequences take less\n");
  CHECK(render(memory_problems(recipe({}), {1e15, 0}, {4, "", 0, kNoGpus}))
            .empty());  // it is not known
}

TEST_CASE("machine limits: memory of several ranks on one machine") {
  const auto said_of = [](std::vector<std::string> overrides, const PlannedMemory& planned) {
    return render(memory_problems(recipe(std::move(overrides)), planned, {4, "", 8e9, kNoGpus}));
  };
  CHECK(said_of({"world_size=8", "sequences=8"}, {1e9, 1e9}) ==
        "<override 1>:1:12: warning: 8 ranks take about 1.86 GiB each, and this machine has "
        "7.45 GiB\n"
        "    world_size=8\n"
        "               ^ 4 fit; parallelism.strategy=zero1 divides the optimizer\n");
  CHECK(said_of({"world_size=2", "strategy=zero1"}, {5e9, 0}) ==
        "<override 1>:1:12: warning: 2 ranks take about 4.66 GiB each, and this machine has "
        "7.45 GiB\n"
        "    world_size=2\n"
        "               ^ one fits\n");
  CHECK(said_of({"model.type=gpt", "world_size=2"}, {9e9, 0}) ==
        "<override 1>:1:12: warning: weights, gradients and optimizer of one rank take 8.38 GiB, "
        "and this machine has 7.45 GiB\n"
        "    model.type=gpt\n"
        "               ^^^ a smaller model fits\n");
  CHECK(said_of({"micro_batch=2", "world_size=2", "sequences=4"}, {3e9, 6e9}) ==
        "<override 1>:1:13: warning: one rank takes about 8.38 GiB, and this machine has 7.45 "
        "GiB\n"
        "    micro_batch=2\n"
        "                ^ fewer sequences in a micro-batch take less\n");
}

TEST_CASE("machine limits: memory of a GPU, which each rank has for itself") {
  const Hardware gpus{4, "", 8e9, kTwoGpus};
  CHECK(memory_problems(recipe({"world_size=2"}), {4e9, 0}, gpus).empty());
  CHECK(render(memory_problems(recipe({"micro_batch=2"}), {4e9, 1e9}, gpus)) ==
        "<override 1>:1:13: warning: the run takes about 4.66 GiB, and a GPU has 4.00 GiB\n"
        "    micro_batch=2\n"
        "                ^ fewer sequences in a micro-batch take less\n");
}

TEST_CASE("machine limits: formats of numbers") {
  CHECK(said("compute=tf32", kPlain) ==
        "<override 1>:1:9: warning: only GPUs have TF32, and this run would be on the CPU\n"
        "    compute=tf32\n"
        "            ^^^^ \"fp32\" runs here too\n");
  CHECK(said("compute=bf16", kPlain) ==
        "<override 1>:1:9: warning: this processor has no bf16 instructions\n"
        "    compute=bf16\n"
        "            ^^^^ it is emulated, slower than fp32\n");
  CHECK(said("compute=bf16", {4, "amx_bf16", 8e9, kNoGpus}).empty());
  CHECK(said("compute=fp16", {4, "avx512_fp16 avx2", 8e9, kNoGpus}).empty());
  CHECK(said("compute=tf32", {4, "fma avx2", 8e9, kTwoGpus}).empty());
  CHECK(said("compute=fp32", kPlain).empty());
}

TEST_CASE("machine limits: GPUs that a recipe asks for") {
  CHECK(said("device=cuda", kPlain) ==
        "<override 1>:1:8: warning: this machine has no NVIDIA driver\n"
        "    device=cuda\n"
        "           ^^^^ run.device=cpu trains on the CPU\n");
  CHECK(said("device=cuda", {4, "fma avx2", 8e9, kTwoGpus}).empty());
  CHECK(said("device=auto", kPlain).empty());
}
