#include "engine/attempt/kernel_agreement.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/device/kernel_choices.h"
#include "engine/tiny_run.h"
#include "support/rank_threads.h"

using namespace exprun;

TEST_CASE("kernel agreement: what another number of ranks has not chosen is measured") {
  kernel_choices::forget();
  kernel_choices::load({{"forward 64x32x96", "onednn"}});  // of micro-batches of four sequences
  const TinyRun run({"parallelism.world_size=2", "batch.micro_batch=2"});
  on_ranks(2, [&](const auto& group, Rendezvous& rendezvous) {
    agree_on_kernels(rendezvous, run.build(group));
  });
  CHECK(kernel_choices::closed());
  const auto agreed = kernel_choices::save();
  CHECK(agreed.at("forward 64x32x96") == "onednn");
  for (const char* product : {"forward", "input_gradient", "weight_gradient"})
    CHECK(agreed.contains(std::string(product) + " 32x32x96"));
  kernel_choices::forget();
}
