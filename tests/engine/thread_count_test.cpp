#include "engine/device/thread_count.h"

#include <doctest/doctest.h>

#include "engine/pipeline.h"
#include "tiny_run.h"

using namespace exprun;

namespace {

int threads_of(const std::vector<std::string>& overrides, at::Device device = at::kCPU) {
  const TinyRun run(overrides);
  return thread_count(run.recipe, *build_weights(run.recipe, at::kMeta).model, device, 8);
}

}  // namespace

TEST_CASE("threads: a small step takes one, a large one all cores") {
  CHECK(threads_of({}) == 1);
  CHECK(threads_of({}, at::kCUDA) == 8);
  CHECK(threads_of({"run.threads=3"}) == 3);
  CHECK(threads_of({"model.hidden_size=512"}) == 8);
}
