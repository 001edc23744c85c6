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

const Hardware kPlain{4, "fma avx2"};

}  // namespace

TEST_CASE("machine limits: threads and cores") {
  CHECK(said("threads=4", kPlain).empty());
  CHECK(said("threads=5", kPlain) ==
        "<override 1>:1:9: warning: 5 threads on 4 cores wait for each other\n"
        "    threads=5\n"
        "            ^ \"auto\" takes one a core\n");
}

TEST_CASE("machine limits: formats of numbers") {
  CHECK(said("compute=tf32", kPlain) ==
        "<override 1>:1:9: warning: only GPUs have TF32, and runs are on the CPU\n"
        "    compute=tf32\n"
        "            ^^^^ \"fp32\" runs here too\n");
  CHECK(said("compute=bf16", kPlain) ==
        "<override 1>:1:9: warning: this processor has no bf16 instructions\n"
        "    compute=bf16\n"
        "            ^^^^ it is emulated, slower than fp32\n");
  CHECK(said("compute=bf16", {4, "amx_bf16"}).empty());
  CHECK(said("compute=fp16", {4, "avx512_fp16 avx2"}).empty());
  CHECK(said("compute=fp32", kPlain).empty());
}
