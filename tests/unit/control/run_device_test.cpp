// CPU or GPUs: what a recipe says and what the machine offers.
#include "control/launch/run_device.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "control/launch/ranks/ranks.h"
#include "tests/unit/recipe/recipes.h"

using namespace exprun;

namespace {

RecipeText text_with(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), "sequences=12");
  return recipe_text(kTinyRecipe, std::move(overrides));
}

GpuOffer gpus(size_t count) {
  return {std::vector<Gpu>(count), "", ""};
}

const GpuOffer kOldDriver{
    std::vector<Gpu>(1),
    "NVIDIA driver 535.104.05 supports CUDA up to 12.2, but exprun-trainer-cuda needs 13.0",
    "install a newer driver; run.device=cpu trains on the CPU"};

TrainerKind kind(std::vector<std::string> overrides, const GpuOffer& offer,
                 bool ranks_elsewhere = false) {
  return trainer_kind(resolve(text_with(std::move(overrides))), offer, ranks_elsewhere);
}

std::string refusal(std::vector<std::string> overrides, const GpuOffer& offer,
                    bool ranks_elsewhere = false) {
  return render(gpu_problems(resolve(text_with(std::move(overrides))), offer, ranks_elsewhere));
}

int ranks(std::vector<std::string> overrides, size_t count) {
  return world_size(resolve(with_a_rank_a_gpu(text_with(std::move(overrides)), gpus(count))));
}

}  // namespace

TEST_CASE("run device: auto takes GPUs where they can be had for every rank") {
  CHECK((kind({}, gpus(1)) == TrainerKind::cuda));
  CHECK((kind({"world_size=2"}, gpus(2)) == TrainerKind::cuda));
  CHECK((kind({"world_size=2"}, gpus(1)) == TrainerKind::cpu));
  CHECK((kind({"world_size=2"}, gpus(1), /*ranks_elsewhere=*/true) == TrainerKind::cuda));
  CHECK((kind({}, kOldDriver) == TrainerKind::cpu));
  CHECK((kind({}, {{}, "this machine has no NVIDIA driver", ""}) == TrainerKind::cpu));
  CHECK((kind({"device=cpu"}, gpus(8)) == TrainerKind::cpu));
  CHECK((kind({"device=cpu"}, gpus(8), /*ranks_elsewhere=*/true) == TrainerKind::cuda));
  CHECK((kind({"device=cuda"}, gpus(1)) == TrainerKind::cuda));
}

TEST_CASE("run device: GPUs that are asked for and cannot be had are an error with its remedy") {
  CHECK(refusal({"device=cuda"}, kOldDriver) ==
        "<override 2>:1:8: error: NVIDIA driver 535.104.05 supports CUDA up to 12.2, but "
        "exprun-trainer-cuda needs 13.0\n    device=cuda\n           ^^^^ install a newer driver; "
        "run.device=cpu trains on the CPU\n");
  CHECK(refusal({"device=cuda", "world_size=3"}, gpus(1)) ==
        "<override 3>:1:12: error: 3 ranks need a GPU each, but only one can be used\n"
        "    world_size=3\n"
        "               ^ \"auto\" is one rank per GPU\n");
  CHECK(refusal({"device=cuda", "world_size=3"}, gpus(2)).find("but only 2 can be used") !=
        std::string::npos);
  CHECK(refusal({"device=cuda", "world_size=3"}, gpus(2), /*ranks_elsewhere=*/true).empty());
  CHECK(refusal({"device=auto"}, kOldDriver).empty());
  CHECK(refusal({"device=cuda"}, gpus(1)).empty());
}

TEST_CASE("run device: without a word there is a rank for each GPU, as far as the batch goes") {
  CHECK(ranks({}, 4) == 4);
  CHECK(ranks({}, 8) == 6);
  CHECK(ranks({"sequences=7"}, 8) == 7);
  CHECK(ranks({"micro_batch=6"}, 4) == 2);
  CHECK(ranks({}, 1) == 1);
  CHECK(ranks({"world_size=3"}, 4) == 3);
  CHECK(ranks({"device=cpu"}, 4) == 1);
}

TEST_CASE("run device: a launcher's number of ranks counts, whatever changes stand before it") {
  for (const char* change : {"world_size=2", "parallelism={ world_size = 2 }", "~world_size",
                             "parallelism.world_size=2"})
    CHECK(world_size(resolve(with_world_size(text_with({change}), 4))) == 4);
  // A run that goes on again and again keeps one.
  RecipeText text = with_world_size(text_with({}), 2);
  text.mark_as_stored();
  text.type({"metrics.every=\"2 steps\""});
  const RecipeText next = with_world_size(text, 4);
  CHECK(next.overrides.size() == text.overrides.size());
  CHECK(next.stored == text.stored - 1);
  CHECK(next.typed == 1);
}
