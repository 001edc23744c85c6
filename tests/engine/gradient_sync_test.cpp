#include "engine/gradient_sync.h"

#include <ATen/ops/equal.h>
#include <doctest/doctest.h>

#include "support/rank_threads.h"

using namespace exprun;

namespace {

ParameterList three_parameters() {
  ParameterList list(at::kCPU);
  list.add("embedding", ParameterClass::embedding, {40, 8}, Initialization::constant(1));
  list.add("matrix", ParameterClass::matrix, {8, 8}, Initialization::constant(2));
  list.add("vector", ParameterClass::vector, {8}, Initialization::constant(3));
  list.initialize(1);
  return list;
}

// Twice a micro-batch whose gradients are (rank + 1) times a parameter's number, the second one
// with the sums; then what the buffers hold.
std::vector<double> synchronised(const std::shared_ptr<ProcessGroup>& group, int64_t bucket_bytes) {
  const auto list = three_parameters();
  const auto& all = list.items();
  const FlatBuffer matrices({all[0], all[1]}, true), vectors({all[2]}, false);
  GradientSync sync(group, {&matrices, &vectors}, all, bucket_bytes);
  for (const bool is_last : {false, true}) {
    at::Tensor loss = all[0].tensor.sum();
    loss = loss.add(all[1].tensor.sum(), 2).add(all[2].tensor.sum(), 3).mul(group->rank() + 1);
    if (is_last) sync.begin();
    loss.backward();
    if (is_last) sync.finish();
  }
  std::vector<double> values;
  for (const Parameter& parameter : all) {
    const at::Tensor gradient = parameter.tensor.grad();
    CHECK(gradient.eq(gradient.view(-1)[0]).all().item<bool>());
    values.push_back(gradient.view(-1)[0].item<double>());
  }
  return values;
}

}  // namespace

TEST_CASE(
    "gradient sync: gradients become their sums over micro-batches and ranks, whatever the "
    "buckets") {
  for (const int64_t bucket_bytes : {int64_t{1}, int64_t{300}, GradientSync::kBucketBytes}) {
    CAPTURE(bucket_bytes);
    for (const int world_size : {1, 2, 3}) {
      const double ranks = world_size * (world_size + 1) / 2;
      const auto found = from_ranks<std::vector<double>>(
          world_size, [&](const auto& group) { return synchronised(group, bucket_bytes); });
      for (const auto& values : found)
        CHECK(values == std::vector<double>{2 * ranks, 4 * ranks, 6 * ranks});
    }
  }
}
