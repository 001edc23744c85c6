// What only a GPU can show. tests/end_to_end/test_gpu.py runs this program where there is one.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/machine/network.h"
#include "dist/gloo.h"
#include "dist/group_by_device.h"
#include "dist/nccl.h"
#include "engine/checkpoint/open_checkpoint.h"
#include "engine/data/prefetcher.h"
#include "engine/device/device.h"
#include "engine/precision/precision.h"
#include "engine/precision/stochastic_rounding.h"
#include "engine/tiny_run.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_aten.h"
#include "support/counted_group.h"

namespace exprun {
namespace {

using Words = std::vector<std::string>;

const at::Device kGpu(at::kCUDA, 0);

std::vector<StepRecord> trained(const TinyRun& run, at::Device device) {
  use_device(device, false);
  use_formats(run.recipe.section("precision"));
  const Pipeline pipeline = run.build(single_process(), device);
  MemoryRecorder recorder;
  Trainer(pipeline, {recorder}).run();
  return recorder.steps;
}

// Of all steps, relative.
double largest_difference(const std::vector<StepRecord>& a, const std::vector<StepRecord>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(a[i].loss / b[i].loss - 1));
  return worst;
}

// A process group of NCCL's, and of Gloo's for the CPU, of one rank.
class World {
 public:
  World() : rendezvous_(place()) {
    const std::chrono::seconds timeout(20);
    auto of_gpus =
        std::make_unique<CountedGroup>(nccl_group(rendezvous_, timeout, kGpu), collectives_);
    group_ = group_by_device(gloo_group(rendezvous_, timeout), std::move(of_gpus));
  }
  const std::shared_ptr<ProcessGroup>& group() const { return group_; }
  int collectives() const { return collectives_; }  // of NCCL's, so far

 private:
  RankPlace place() const {
    RankPlace place;
    place.port = listening_.port;
    place.listening_fd = ::dup(listening_.fd.get());  // the store closes it
    return place;
  }

  ListeningSocket listening_ = listen_on_loopback();
  Rendezvous rendezvous_;
  int collectives_ = 0;
  std::shared_ptr<ProcessGroup> group_;
};

}  // namespace

TEST_CASE("gpu: its facts") {
  for (const GpuFacts& gpu : usable_gpus()) {
    CHECK_FALSE(gpu.name.empty());
    CHECK(gpu.uuid.starts_with("GPU-"));
    CHECK(gpu.uuid.size() == 40);
    CHECK(gpu.memory_bytes > 1 << 30);
    CHECK(gpu.capability >= 50);
  }
  CHECK(cuda_version().starts_with("13."));
}

TEST_CASE("gpu: in fp32 it makes the losses of the CPU, whatever the optimizer") {
  const std::vector<Words> optimizers{{"optimizer.type='adamw'"},
                                      {"optimizer.type='adam'"},
                                      {"optimizer.type='lion'", "lr=3e-4"},
                                      {"optimizer.type='sgd'", "optimizer.momentum=0.9"}};
  for (Words words : optimizers) {
    CAPTURE(words[0]);
    words.push_back("model.dropout=0.0");
    const TinyRun run(words);
    CHECK(largest_difference(trained(run, kGpu), trained(run, at::kCPU)) < 1e-3);
  }
}

TEST_CASE("gpu: in every format it learns what the CPU learns") {
  const double expected = trained(TinyRun{}, at::kCPU).back().loss;
  const std::vector<Words> formats{
      {"precision.compute='tf32'"},
      {"precision.compute='bf16'"},
      {"precision.compute='fp16'"},
      {"precision.compute='bf16'", "precision.parameters='bf16'"},
      {"precision.compute='bf16'", "precision.parameters='bf16'", "precision.gradients='bf16'",
       "precision.optimizer_state='bf16'"},
      {"precision.compute='bf16'", "precision.parameters='bf16'",
       "precision.stochastic_rounding=true"}};
  for (const Words& words : formats) {
    CAPTURE(words.back());
    CHECK(trained(TinyRun(words), kGpu).back().loss == doctest::Approx(expected).epsilon(0.05));
  }
}

TEST_CASE("gpu: a run that was stopped and resumed ends with the bits of one that was not") {
  const Words words{"run.deterministic=true"};
  const TinyRun whole(words), parts(words);
  MemoryRecorder expected, recorder;
  use_device(kGpu, true);
  const auto tensors = make_attempt(whole, expected, never_stop, kGpu).tensors;
  for (const int look : {17, 23, 31}) make_attempt(parts, recorder, stop_at_look(look), kGpu);
  const auto resumed = make_attempt(parts, recorder, never_stop, kGpu).tensors;
  CHECK(recorder.series() == expected.series());
  for (const auto& [name, tensor] : tensors) {
    CAPTURE(name);
    CHECK(at::equal(tensor, resumed.at(name)));
  }
}

TEST_CASE("gpu: its checkpoint goes on on the CPU") {
  const TinyRun run({"model.dropout=0.0"});
  MemoryRecorder recorder;
  use_device(kGpu, true);
  const auto tensors = make_attempt(run, recorder, stop_at_look(30), kGpu).tensors;
  const Pipeline pipeline = run.build();
  load_tensors(complete_checkpoints(RunFolder{run.folder()})[0].path, pipeline);
  for (const auto& [name, tensor] : all_tensors(pipeline))
    CHECK(at::equal(tensor, tensors.at(name)));
}

TEST_CASE("gpu: the noise of rounding is the CPU's") {
  CHECK(at::equal(hashed_noise(5, 1000, 42, kGpu).cpu(), hashed_noise(5, 1000, 42, at::kCPU)));
}

TEST_CASE("gpu: documents of any lengths attend as on the CPU, with their gradients") {
  use_device(kGpu, false);
  const std::vector<int64_t> lengths{5, 64, 1, 130, 33};
  const auto bounds = at::tensor(std::vector<int32_t>{0, 5, 69, 70, 200, 233});
  for (const at::ScalarType format : {at::kBFloat16, at::kHalf, at::kFloat})
    for (const int64_t window : {0, 7})
      for (const int64_t width : {64, 20}) {
        CAPTURE(format);
        CAPTURE(window);
        CAPTURE(width);
        at::manual_seed(1);
        const std::vector<at::Tensor> heads{at::randn({1, 233, 4, width}),
                                            at::randn({1, 233, 2, width}),
                                            at::randn({1, 233, 2, width})};
        const auto attended = [&](at::Device device, at::ScalarType number) {
          std::vector<at::Tensor> in;
          for (const at::Tensor& part : heads)
            in.push_back(part.to(format).to(device, number).detach().requires_grad_());
          const auto out = document_attention(in[0], in[1], in[2], lengths, bounds.to(device),
                                              window, /*dropout=*/0);
          out.pow(2).sum().backward();
          std::vector<at::Tensor> all{out};
          for (const at::Tensor& part : in) all.push_back(part.grad());
          return all;
        };
        std::vector<at::Tensor> narrow;
        for (const at::Tensor& part : heads) narrow.push_back(part.to(kGpu, format));
        CHECK(document_attention_flash(narrow[0], narrow[1], narrow[2], lengths, bounds.to(kGpu),
                                       window, /*dropout=*/0)
                  .has_value() == (format != at::kFloat && width % 8 == 0));
        const auto expected = attended(at::kCPU, at::kFloat), found = attended(kGpu, format);
        const double tolerance = format == at::kFloat ? 1e-4 : 0.02;  // bf16 has 8 bits
        for (size_t i = 0; i < expected.size(); ++i) {
          CAPTURE(i);
          const auto differences = found[i].detach().to(at::kCPU, at::kFloat).sub(expected[i]);
          const auto worst = differences.abs().max().item().toDouble();
          CHECK(worst < tolerance * expected[i].abs().max().item().toDouble());
        }
      }
}

TEST_CASE("gpu: batches that are copied ahead are the CPU's, however late they are read") {
  use_device(kGpu, false);
  const int64_t size = int64_t{1} << 22;
  const auto read = [&](int64_t first, int64_t) -> Batch {
    const auto options = at::TensorOptions().dtype(at::kLong).pinned_memory(true);
    return {at::full({size}, first, options), at::full({size}, first + 1, options), first};
  };
  Prefetcher ahead(read, 1, kGpu);
  auto sum = at::zeros({}, at::TensorOptions(kGpu).dtype(at::kLong));
  constexpr int64_t kBatches = 50;
  for (int64_t first = 0; first < kBatches; ++first) {  // the thread is far ahead of the device
    const Batch batch = ahead.take(first, 1);
    CHECK(batch.inputs.device() == kGpu);
    for (int again = 0; again < 20; ++again) sum.add_(batch.targets.sub(batch.inputs).sum());
    sum.add_(batch.inputs.sum());
  }
  CHECK(sum.item<int64_t>() == size * (20 * kBatches + kBatches * (kBatches - 1) / 2));
}

TEST_CASE("gpu: memory is counted") {
  use_device(kGpu, false);
  const DeviceMemory before = device_memory(kGpu);
  const auto held = at::zeros({1 << 20}, at::TensorOptions(kGpu));
  const DeviceMemory after = device_memory(kGpu);
  CHECK(after.allocated >= before.allocated + (4 << 20));
  CHECK(after.peak >= after.allocated);
  CHECK(after.reserved >= after.allocated);
  CHECK(after.total > after.free);
}

TEST_CASE("gpu: NCCL's collectives in a world of one") {
  use_device(kGpu, false);
  const World world;
  ProcessGroup& group = *world.group();
  const auto options = at::TensorOptions(kGpu).dtype(at::kFloat);
  auto sum = at::full({5}, 3.0, options), whole = at::zeros({4}, options);
  const auto part = at::zeros({4}, options);
  group.all_reduce(sum)->wait();
  group.reduce_scatter(part, at::arange(4.0, options))->wait();
  group.all_gather(whole, part)->wait();
  group.broadcast(whole, 0)->wait();
  CHECK(at::equal(sum.cpu(), at::full({5}, 3.0)));
  CHECK(at::equal(whole.cpu(), at::arange(4.0)));
  CHECK(sum_over_ranks(group, {1, 2.5}) == std::vector<double>{1, 2.5});
}

TEST_CASE("gpu: steps whose gradients and parameters go through NCCL make the losses of the CPU") {
  use_device(kGpu, false);
  for (const char* strategy : {"ddp", "zero1"}) {
    CAPTURE(strategy);
    const TinyRun run(
        {"model.dropout=0.0", "parallelism.strategy='" + std::string(strategy) + "'"});
    const World world;
    MemoryRecorder recorder;
    const Pipeline pipeline = run.build(world.group(), kGpu);
    const int before = world.collectives();
    Trainer(pipeline, {recorder}).run();
    CHECK(world.collectives() - before >= 40);  // one a step at least
    CHECK(largest_difference(recorder.steps, trained(run, at::kCPU)) < 1e-3);
  }
}

}  // namespace exprun
