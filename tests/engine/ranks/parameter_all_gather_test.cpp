// New values that come while a forward pass uses those that are there.
#include "engine/data_parallel/parameter_all_gather.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <doctest/doctest.h>

#include <limits>

#include "engine/tiny_run.h"
#include "support/rank_threads.h"

using namespace exprun;

namespace {

ParameterList three_parameters() {
  ParameterList list(at::kCPU);
  for (const char* name : {"first", "second", "third"})
    list.add(name, ParameterClass::matrix, {64, 64}, Initialization::constant(0));
  return list;
}

// What is there of the parameters when so many of them are awaited: each rank has stepped its part
// to its number, from 1.
std::vector<at::Tensor> awaited(const std::shared_ptr<ProcessGroup>& group, size_t count) {
  const at::NoGradGuard no_grad;
  const auto list = three_parameters();
  const ShardedBuffer buffer(list.items(), true, Optimizer::Granularity::element_wise,
                             {group, true, 64 * 64 * 4});
  ParameterAllGather gather(group, {&buffer}, list.items());
  for (const FlatRange& range : buffer.ranges()) range.values.fill_(group->rank() + 1.0);
  gather.begin();
  gather.await(count);
  std::vector<at::Tensor> values;
  for (size_t i = 0; i < count; ++i) values.push_back(list.items()[i].tensor.clone());
  gather.await_all();
  sum_over_ranks(*group, {1});
  return values;
}

}  // namespace

TEST_CASE("value gather: what is awaited has the parts of all ranks") {
  for (const size_t count : {1, 2, 3}) {
    const auto ranks = from_ranks<std::vector<at::Tensor>>(
        2, [&](const auto& group) { return awaited(group, count); });
    for (const auto& values : ranks) {
      REQUIRE(values.size() == count);
      for (const at::Tensor& value : values) {
        const at::Tensor flat = value.view(-1);
        CHECK(flat.narrow(0, 0, 32 * 64).eq(1).all().item<bool>());
        CHECK(flat.narrow(0, 32 * 64, 32 * 64).eq(2).all().item<bool>());
      }
    }
  }
}

TEST_CASE("model: one that announces what it uses reads nothing else before") {
  const std::vector<std::vector<std::string>> variants{{},
                                                       {"model.tie_embeddings=false"},
                                                       {"model.embedding_norm=true"},
                                                       {"model.position={type='rotary'}"}};
  for (const auto& words : variants) {
    const at::NoGradGuard no_grad;
    const TinyRun run(words);
    const Pipeline pipeline = run.build();
    REQUIRE(pipeline.model().announces_use());
    pipeline.model().set_training(false);
    const Batch batch = pipeline.read(Split::train, 0, 2);
    const at::Tensor expected = pipeline.model().loss_sum(batch.inputs, batch.targets);
    const auto& items = pipeline.train_state.parameters->items();
    std::vector<at::Tensor> values;
    for (const Parameter& parameter : items) {
      values.push_back(parameter.tensor.clone());
      parameter.tensor.fill_(std::numeric_limits<float>::quiet_NaN());
    }
    size_t there = 0;
    pipeline.model().await_values_by([&](size_t count) {
      for (; there < count; ++there) items[there].tensor.copy_(values[there]);
    });
    const at::Tensor found = pipeline.model().loss_sum(batch.inputs, batch.targets);
    CHECK(at::equal(found, expected));
    CHECK(there == items.size());
  }
}
