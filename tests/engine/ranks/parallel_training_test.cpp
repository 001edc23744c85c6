// Training over ranks against training in one process: the same numbers up to the order of sums.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>

#include "base/diagnostic.h"
#include "engine/checkpoint/checkpoint_writer.h"
#include "engine/checkpoint/open_checkpoint.h"
#include "engine/lora.h"
#include "engine/tiny_run.h"
#include "support/counted_group.h"
#include "support/rank_threads.h"

namespace exprun {
namespace {

using Words = std::vector<std::string>;
using Series = std::map<std::string, std::vector<std::pair<int64_t, double>>>;

const Words kAdamW;
// In fp32: one in bf16 makes a thousandth of a difference in the last digit of a gradient.
const Words kMuon{
    R"(optimizer.groups.matrices={match=["*projection.weight"],type="muon",lr=1e-2,newton_schulz_dtype="fp32"})"};

// Batches that 1, 2, 3 and 4 ranks can share, in so many micro-batches each. Threads share one
// random generator, so there is no dropout.
Words words(int world_size, const std::string& strategy, const Words& optimizer,
            int64_t accumulation = 1) {
  const int64_t sequences = 12 * accumulation;
  Words all{"model.dropout=0",
            "optimizer.max_grad_norm=0.5",
            "parallelism.world_size=" + std::to_string(world_size),
            "parallelism.strategy='" + strategy + "'",
            "batch.sequences=" + std::to_string(sequences),
            "batch.micro_batch=" + std::to_string(sequences / world_size / accumulation)};
  all.insert(all.end(), optimizer.begin(), optimizer.end());
  return all;
}

struct Trained {
  Series series;
  std::map<std::string, at::Tensor> tensors;  // the state on rank 0 only
  int64_t state_bytes = 0;
};

struct Files {
  std::filesystem::path from, to;  // checkpoints to begin with and to end in, if there are
};

Trained train_rank(const TinyRun& run, const std::shared_ptr<ProcessGroup>& group,
                   const Files& files) {
  at::set_num_threads(1);
  const Pipeline pipeline = run.build(group);
  Position start;
  if (!files.from.empty()) {
    start = read_checkpoint_state(files.from).position;
    load_tensors(files.from, pipeline);
  }
  MemoryRecorder recorder;
  const TrainingResult result =
      Trainer(pipeline, {recorder, nullptr, [] { return StopRequest::none; }}).run(start);
  StateGiver giver;
  if (!files.to.empty() && group->rank() == 0)
    write_checkpoint(take_snapshot(pipeline, result.position), files.to);
  else if (!files.to.empty())
    giver.save(pipeline, result.position);
  return {recorder.series(), all_tensors(pipeline), pipeline.optimizers().state_size().bytes_here};
}

std::vector<Trained> train(int world_size, const TinyRun& run, const Files& files = {}) {
  if (world_size == 1) return {train_rank(run, single_process(), files)};
  return from_ranks<Trained>(world_size,
                             [&](const auto& group) { return train_rank(run, group, files); });
}

std::vector<Trained> train(int world_size, const std::string& strategy, const Words& optimizer,
                           int64_t accumulation, int64_t steps = 50) {
  Words all = words(world_size, strategy, optimizer, accumulation);
  all.push_back("run.steps=" + std::to_string(steps));
  return train(world_size, TinyRun(all));
}

// The largest relative difference of a value that both have; all steps of `part` are in `whole`.
double difference(const Series& whole, const Series& part) {
  double largest = 0;
  REQUIRE(whole.size() == part.size());
  for (const auto& [name, values] : part) {
    const auto& all = whole.at(name);
    REQUIRE(values.size() <= all.size());
    const auto skipped = static_cast<std::ptrdiff_t>(all.size() - values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const auto& [step, expected] = all[i + static_cast<size_t>(skipped)];
      REQUIRE(values[i].first == step);
      largest = std::max(largest, std::abs(values[i].second - expected) / std::abs(expected));
    }
  }
  return largest;
}

// Losses differ by the order of sums. The norm is itself summed in fp64 (check_first_norm);
// training makes more of a difference in the gradients than in the loss that they lower.
void check_close(const Series& whole, const Series& part, double tolerance) {
  Series whole_losses = whole, part_losses = part;
  whole_losses.erase("grad_norm");
  part_losses.erase("grad_norm");
  CHECK(difference(whole_losses, part_losses) < tolerance);
  CHECK(difference(whole, part) < 10 * tolerance);
}

// Before any update: the gradients' own last digits, and no more.
void check_first_norm(const Trained& one, const Trained& several) {
  const double expected = one.series.at("grad_norm")[0].second;
  CHECK(several.series.at("grad_norm")[0].second == doctest::Approx(expected).epsilon(1e-6));
}

void check_replicas(const std::vector<Trained>& ranks) {
  for (const Trained& rank : ranks) {
    CHECK(rank.series == ranks[0].series);
    for (const auto& [name, tensor] : rank.tensors)
      CHECK_MESSAGE(tensor.equal(ranks[0].tensors.at(name)), name);
  }
}

void check_agreement(const std::vector<int>& world_sizes, const Words& optimizer,
                     int64_t accumulation, int64_t steps = 50) {
  const auto one = train(1, "zero1", optimizer, accumulation, steps)[0];
  for (const int world_size : world_sizes) {
    CAPTURE(world_size);
    const auto ddp = train(world_size, "ddp", optimizer, accumulation, steps);
    const auto zero1 = train(world_size, "zero1", optimizer, accumulation, steps);
    check_close(one.series, ddp[0].series, 1e-5);
    check_close(one.series, zero1[0].series, 1e-5);
    check_close(ddp[0].series, zero1[0].series, 1e-6);
    check_first_norm(one, ddp[0]);
    check_first_norm(one, zero1[0]);
    check_replicas(ddp);
    check_replicas(zero1);
  }
}

TEST_CASE("parallel: DDP and ZeRO-1 make the numbers of one process") {
  check_agreement({3}, kMuon, 4, 20);
  check_agreement({2}, kAdamW, 1, 20);
}

TEST_CASE("parallel: with frozen parameters") {
  check_agreement({2, 3}, {R"(optimizer.frozen=["token_embedding.*", "blocks.0.*"])"}, 2, 8);
}

// Whether the run's words train it or not, by name.
void check_frozen(const Words& more, const std::function<bool(const std::string&)>& is_frozen) {
  for (const char* strategy : {"ddp", "zero1"}) {
    CAPTURE(std::string(strategy));
    Words all = words(2, strategy, more);
    all.push_back("run.steps=4");
    const TinyRun run(all);
    const Pipeline initial = run.build();
    for (const Trained& rank : train(2, run))
      for (const Parameter& parameter : initial.train_state.parameters->items())
        CHECK_MESSAGE(
            rank.tensors.at(parameter.name).equal(parameter.tensor) == is_frozen(parameter.name),
            parameter.name);
  }
}

TEST_CASE("parallel: frozen weights keep every bit on all ranks, and no others do") {
  check_frozen({R"(optimizer.frozen=["token_embedding.*", "blocks.0.*"])"},
               [](const std::string& name) {
                 return name.starts_with("token_embedding.") || name.starts_with("blocks.0.");
               });
  check_frozen({"model.lora={rank=2}"}, [](const std::string& name) { return !is_adapter(name); });
}

TEST_CASE("parallel: with adapters, and with activations that are computed again") {
  check_agreement({2, 3}, {"model.lora={rank=2}"}, 2, 8);
  check_agreement({2}, {"model.checkpoint_activations=true"}, 2, 8);
}

TEST_CASE("parallel: evaluations of averaged weights") {
  check_agreement({2, 3}, {"run.ema=0.9"}, 2, 8);
}

TEST_CASE("parallel: packed examples count the same targets on any number of ranks") {
  Words examples = kOfExamples;
  examples.push_back("evaluation.val_loss.tokens=50");
  check_agreement({2, 3}, examples, 2, 8);
}

TEST_CASE("parallel: separate blocks count the same targets on any number of ranks") {
  check_agreement({2, 3}, {"dataset.blocks='separate'", "evaluation.val_loss.tokens=50"}, 2, 8);
}

TEST_CASE("parallel: 1 to 4 ranks, DDP and ZeRO-1, AdamW and Muon, 50 steps" *
          doctest::test_suite("long")) {
  for (const Words& optimizer : {kAdamW, kMuon})
    for (const int64_t accumulation : {1, 4})
      check_agreement({1, 2, 3, 4}, optimizer, accumulation);
}

TEST_CASE("parallel: stochastic rounding draws the same on any number of ranks") {
  for (const Words& optimizer : {kAdamW, kMuon}) {
    Words bf16{"precision.parameters='bf16'", "precision.stochastic_rounding=true"};
    bf16.insert(bf16.end(), optimizer.begin(), optimizer.end());
    const auto ddp = train(2, "ddp", bf16, 1, 3), zero1 = train(2, "zero1", bf16, 1, 3);
    check_replicas(zero1);
    for (const auto& [name, tensor] : ddp[0].tensors)
      CHECK_MESSAGE(tensor.equal(zero1[0].tensors.at(name)), name);
  }
}

TEST_CASE("parallel: DDP and ZeRO-1 add gradients in one order, and make the same bits") {
  Words untied = kMuon;
  untied.push_back("model.tie_embeddings=false");
  untied.push_back("optimizer.max_grad_norm=0");  // the norm is a sum over other parts
  for (const int world_size : {3, 4}) {
    CAPTURE(world_size);
    const auto ddp = train(world_size, "ddp", untied, 1, 12);
    const auto zero1 = train(world_size, "zero1", untied, 1, 12);
    CHECK(ddp[0].series.at("train/loss") == zero1[0].series.at("train/loss"));
    for (const auto& [name, tensor] : ddp[0].tensors)
      CHECK_MESSAGE(tensor.equal(zero1[0].tensors.at(name)), name);
  }
}

TEST_CASE("parallel: ZeRO-1 divides the optimizer's memory by the ranks") {
  const int64_t whole = train(1, "zero1", kMuon, 1, 1)[0].state_bytes;
  for (const int world_size : {2, 4}) {
    const int64_t padding = 4 * 64 * world_size;  // of two buffers with two states
    int64_t sum = 0;
    for (const Trained& rank : train(world_size, "zero1", kMuon, 1, 1)) {
      CHECK(rank.state_bytes < 1.2 * static_cast<double>(whole) / world_size);
      sum += rank.state_bytes;
    }
    CHECK(sum >= whole);
    CHECK(sum < whole + padding);
    for (const Trained& rank : train(world_size, "ddp", kMuon, 1, 1)) {
      CHECK(rank.state_bytes >= whole);
      CHECK(rank.state_bytes < whole + padding);
    }
  }
}

TEST_CASE("parallel: a rank whose parameters are not those of rank 0 is named") {
  const TinyRun run(words(3, "ddp", kAdamW));
  const auto messages = from_ranks<std::string>(3, [&](const auto& group) -> std::string {
    at::set_num_threads(1);
    const Pipeline pipeline = run.build(group);
    CHECK(pipeline.optimizers().ranks_that_differ().empty());
    if (group->rank() == 2) {
      const at::NoGradGuard no_grad;
      pipeline.train_state.parameters->find("final_norm.bias")->tensor.view(-1)[0].fill_(1e-3);
    }
    MemoryRecorder recorder;
    try {
      // DDP sums gradients, not parameters: what is different stays so.
      Trainer(pipeline, {recorder}).run();
      return "no error";
    } catch (const Error& error) {
      return error.what();
    }
  });
  for (const std::string& message : messages)
    CHECK(
        message ==
        "dist: after step 1 the parameters of rank 2 differ from those of rank 0; if this happens "
        "again, check for faulty memory and for libraries that differ between the machines");
}

// As machines that round differently would measure: rank 0 finds no improvement, the others do.
class DifferentOnEachRank : public Evaluation {
 public:
  std::optional<EvaluationResult> evaluate(const EvaluationContext& context) override {
    const int rank = context.group->rank();
    return EvaluationResult{{{"odd/loss", rank - static_cast<double>(rank * context.step)}}, ""};
  }
};

TEST_CASE("parallel: ranks that measure differently take what rank 0 measured, and end together") {
  const TinyRun run(words(2, "ddp", kAdamW));
  struct Seen {
    TrainingResult result;
    std::vector<std::pair<int64_t, double>> measured;
  };
  const auto ranks = from_ranks<Seen>(2, [&](const auto& group) {
    at::set_num_threads(1);
    Pipeline pipeline = run.build(group);
    pipeline.plan.best = {.metric = "odd/loss", .patience = 2};
    pipeline.evaluations.clear();
    pipeline.evaluations.push_back({"odd", 1, std::make_unique<DifferentOnEachRank>()});
    MemoryRecorder recorder;
    const TrainingResult result =
        Trainer(pipeline, {recorder, nullptr, [] { return StopRequest::none; }}).run();
    return Seen{result, recorder.series().at("odd/loss")};
  });
  for (const Seen& seen : ranks) {
    CHECK((seen.result.end == TrainingResult::End::finished));
    CHECK(seen.result.position.step == 2);
    CHECK(seen.measured == std::vector<std::pair<int64_t, double>>{{0, 0}, {1, 0}, {2, 0}});
  }
}

// A run of 24 steps that is saved after 12, once per way of running it.
class Halves {
 public:
  explicit Halves(const Words& optimizer) : optimizer_(optimizer) {
    whole_ = train(1, run(24, 1, "ddp"))[0];
  }

  struct Way {
    int world_size;
    const char* strategy;
    friend bool operator==(const Way& a, const Way& b) {
      return a.world_size == b.world_size && std::string(a.strategy) == b.strategy;
    }
  };

  void check(const Way& first, const Way& second) {
    CAPTURE(first.world_size);
    CAPTURE(std::string(first.strategy));
    CAPTURE(second.world_size);
    CAPTURE(std::string(second.strategy));
    const TinyRun half = run(12, first.world_size, first.strategy);
    const TinyRun rest = run(24, second.world_size, second.strategy);
    const auto saved = half.folder() / "step_00000012";
    train(first.world_size, half, {{}, saved});
    const auto continued = train(second.world_size, rest, {saved, {}});
    check_replicas(continued);
    CHECK(continued[0].series.at("train/loss").size() == 12);
    check_close(whole_.series, continued[0].series, 1e-5);
    if (!(first == second)) return;
    const auto uninterrupted = train(second.world_size, rest);
    CHECK(difference(uninterrupted[0].series, continued[0].series) == 0);
    for (const auto& [name, tensor] : uninterrupted[0].tensors)
      CHECK_MESSAGE(tensor.equal(continued[0].tensors.at(name)), name);
  }

 private:
  TinyRun run(int64_t steps, int world_size, const std::string& strategy) const {
    Words all = words(world_size, strategy, optimizer_);
    all.push_back("run.steps=" + std::to_string(steps));
    all.push_back("evaluation.val_loss.every='4 steps'");
    return TinyRun(all, SchemaSet::embedded(), {"\"cosine\"", "\"constant\""});
  }

  Words optimizer_;
  Trained whole_;
};

TEST_CASE("parallel: a checkpoint of some ranks continues on others") {
  Halves halves(kMuon);
  halves.check({1, "ddp"}, {3, "zero1"});
  halves.check({3, "zero1"}, {2, "ddp"});
  halves.check({2, "zero1"}, {2, "zero1"});
}

TEST_CASE("parallel: a checkpoint with adapters and averages continues on other ranks") {
  Words words = kOfExamples;
  words.insert(words.end(), {"model.lora={rank=2}", "run.ema=0.9"});
  Halves halves(words);
  halves.check({1, "ddp"}, {2, "zero1"});
  halves.check({2, "zero1"}, {3, "ddp"});
  halves.check({2, "ddp"}, {2, "ddp"});
  halves.check({3, "zero1"}, {3, "zero1"});
}

TEST_CASE("parallel: any world size and strategy continues any other's checkpoint" *
          doctest::test_suite("long")) {
  std::vector<Halves::Way> ways;
  for (const int world_size : {1, 2, 3, 4})
    for (const char* strategy : {"ddp", "zero1"}) ways.push_back({world_size, strategy});
  for (const Words& optimizer : {kAdamW, kMuon}) {
    Halves halves(optimizer);
    for (const auto& first : ways)
      for (const auto& second : ways) halves.check(first, second);
  }
}

TEST_CASE(
    "parallel training: a single rank whose backend exchanges with itself makes the same bits") {
  for (const char* strategy : {"ddp", "zero1"}) {
    CAPTURE(strategy);
    const TinyRun run(words(1, strategy, kAdamW));
    int alone = 0, exchanged = 0;
    const auto expected =
        train_rank(run, std::make_shared<CountedGroup>(single_process(), alone), {});
    const auto seen = from_ranks<Series>(1, [&](const auto& group) {
      return train_rank(run, std::make_shared<CountedGroup>(group, exchanged), {}).series;
    });
    CHECK(seen[0] == expected.series);
    CHECK(exchanged >= alone + 40);  // gradients, one bucket a step at least
  }
}

}  // namespace
}  // namespace exprun
