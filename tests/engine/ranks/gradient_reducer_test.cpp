#include "engine/data_parallel/gradient_reducer.h"

#include <ATen/ops/zeros.h>
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "engine/data_parallel/sharded_buffer.h"
#include "support/counted_group.h"
#include "support/rank_threads.h"

using namespace exprun;

namespace {

ParameterList four_parameters() {
  ParameterList list(at::kCPU);
  list.add("1", ParameterClass::embedding, {40, 8}, Initialization::constant(1));
  list.add("2", ParameterClass::matrix, {8, 8}, Initialization::constant(2));
  list.add("3", ParameterClass::matrix, {8, 16}, Initialization::constant(3));
  list.add("4", ParameterClass::vector, {8}, Initialization::constant(4));
  list.initialize(1);
  return list;
}

struct Synchronised {
  std::map<std::string, int64_t> elements;  // that this rank steps, by parameter
  double squares = 0;                       // of its part
};

// Twice a micro-batch whose gradients are (rank + 1) times a parameter's number, the second one
// with the sums; every gradient that the rank steps must then be twice the sum over the ranks.
Synchronised synchronised(const Parallelism& parallelism) {
  const auto list = four_parameters();
  const auto& all = list.items();
  using Granularity = Optimizer::Granularity;
  std::vector<ShardedBuffer> buffers;
  buffers.emplace_back(std::vector{all[0]}, true, Granularity::element_wise, parallelism);
  buffers.emplace_back(std::vector{all[1], all[2]}, true, Granularity::matrix_wise, parallelism);
  buffers.emplace_back(std::vector{all[3]}, false, Granularity::element_wise, parallelism);
  GradientReducer sync(parallelism.group, {&buffers[0], &buffers[1], &buffers[2]}, all);
  const int rank = parallelism.group->rank(), ranks = parallelism.group->world_size();
  for (const bool is_last : {false, true}) {
    at::Tensor loss = at::zeros({});
    for (size_t i = 0; i < all.size(); ++i)
      loss = loss.add(all[i].tensor.sum(), static_cast<double>(i + 1));
    if (is_last) sync.begin();
    loss.mul(rank + 1).backward();
    if (is_last) sync.finish();
  }
  Synchronised found;
  for (const ShardedBuffer& buffer : buffers) {
    found.squares += buffer.sum_of_squares().item<double>();
    for (size_t unit = 0; unit < buffer.units().size(); ++unit)
      for (const auto& [parameter_slice, of_parameter, of_unit] : buffer.parameter_parts(unit)) {
        const std::string& name = parameter_slice.parameter.name;
        const auto number = static_cast<double>(name.back() - '0');
        const auto stepped = buffer.units()[unit].of(buffer.flat().range().gradients);
        CHECK(of_unit.of(stepped).eq(number * ranks * (ranks + 1)).all().item<bool>());
        found.elements[name] += of_unit.count;
      }
  }
  return found;
}

// Of two ranks of which the other is not there; counts what is waited for.
class WaitedGroup : public CountedGroup {
 public:
  WaitedGroup(int& collectives, int& waits)
      : CountedGroup(imagined_ranks(2), collectives), waits_(waits) {}

  std::unique_ptr<Collective> all_reduce(at::Tensor tensor) override {
    return std::make_unique<Waited>(CountedGroup::all_reduce(tensor), waits_);
  }

 private:
  struct Waited : Collective {
    Waited(std::unique_ptr<Collective> collective, int& waits)
        : collective(std::move(collective)), waits(waits) {}
    void wait() override {
      ++waits;
      collective->wait();
    }
    std::unique_ptr<Collective> collective;
    int& waits;
  };

  int& waits_;
};

// How often backward waits for collectives, of seven; then they are finished.
int waits_of_backward(at::Device device) {
  ParameterList list(device);
  for (int i = 0; i < 7; ++i)
    list.add(std::to_string(i), ParameterClass::matrix, {8, 4}, Initialization::constant(1));
  int collectives = 0, waits = 0;
  const Parallelism parallelism{std::make_shared<WaitedGroup>(collectives, waits), false, 1};
  const ShardedBuffer buffer(list.items(), true, Optimizer::Granularity::matrix_wise, parallelism);
  GradientReducer sync(parallelism.group, {&buffer}, list.items());
  at::Tensor loss = at::zeros({}, at::TensorOptions(device));
  for (const Parameter& parameter : list.items()) loss = loss.add(parameter.tensor.sum());
  sync.begin();
  loss.backward();
  const int of_backward = waits;
  CHECK(collectives == 7);
  sync.finish();
  CHECK(waits == 7);
  return of_backward;
}

}  // namespace

TEST_CASE("gradient sync: backward waits between CPUs, where collectives take memory, only") {
  CHECK(waits_of_backward(at::kCPU) == 3);
  CHECK(waits_of_backward(at::kMeta) == 0);  // stands in for a GPU
}

TEST_CASE("gradient sync: gradients are sums over micro-batches and ranks, whatever the buckets") {
  const std::map<std::string, double> elements{{"1", 320}, {"2", 64}, {"3", 128}, {"4", 8}};
  for (const bool shards : {false, true})
    for (const int64_t bucket_bytes : {int64_t{1}, int64_t{300}, Parallelism::kBucketBytes})
      for (const int world_size : {1, 2, 3}) {
        CAPTURE(shards);
        CAPTURE(bucket_bytes);
        CAPTURE(world_size);
        const auto found = from_ranks<Synchronised>(world_size, [&](const auto& group) {
          return synchronised({group, shards, bucket_bytes});
        });
        std::map<std::string, double> stepped;
        double squares = 0, expected_squares = 0;
        for (const Synchronised& rank : found) {
          squares += rank.squares;
          for (const auto& [name, count] : rank.elements)
            stepped[name] += static_cast<double>(count) / (shards ? 1 : world_size);
        }
        CHECK(stepped == elements);
        for (const auto& [name, count] : elements)
          expected_squares += count * std::pow((name[0] - '0') * world_size * (world_size + 1), 2);
        CHECK(squares == doctest::Approx(expected_squares).epsilon(1e-12));
      }
}

TEST_CASE("ownership: the costliest matrices first, each to the rank with the least to do") {
  ParameterList list(at::kMeta);
  const std::vector<std::pair<int, int>> shapes{{8, 8}, {32, 8}, {16, 16}, {8, 8}, {8, 8}, {8, 8}};
  for (const auto& [rows, columns] : shapes)
    list.add(std::to_string(list.items().size()), ParameterClass::matrix, {rows, columns},
             Initialization::constant(0));
  CHECK(owners(list.items(), 1) == std::vector<int>{0, 0, 0, 0, 0, 0});
  CHECK(owners(list.items(), 2) == std::vector<int>{1, 1, 0, 1, 1, 1});
  CHECK(owners({list.items()[0]}, 3) == std::vector<int>{0});
}
