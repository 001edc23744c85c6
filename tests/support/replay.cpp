// Components for replaying a recorded training run of another program: its batches in its order,
// and its evaluations with the batches that each of them used. Not part of exprun: their schemas
// are added by replay_schemas() (replay.h).
#include "support/replay.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "engine/checkpoint/safetensors.h"
#include "engine/dataset.h"
#include "engine/evaluation.h"

namespace exprun {
namespace {

std::vector<int64_t> offsets(const std::string& file, const std::string& tensor) {
  const Safetensors order(file);
  const auto values = order.tensor(tensor).reshape({-1}).clone();
  const auto* data = values.const_data_ptr<int64_t>();
  return {data, data + values.numel()};
}

std::vector<uint16_t> read_tokens(const std::string& file) {
  const MappedFile mapped(file);
  const auto* data = reinterpret_cast<const uint16_t*>(mapped.bytes().data());
  return {data, data + mapped.bytes().size() / sizeof(uint16_t)};
}

struct Recorded {
  std::vector<uint16_t> tokens;
  std::vector<int64_t> offsets;  // of every sample, in order
};

// Sample i of a split begins at the i-th recorded offset.
class Replay final : public Dataset {
 public:
  Replay(Recorded train, Recorded validation, int64_t length)
      : train_(std::move(train)), validation_(std::move(validation)), length_(length) {}

  Batch batch(Split split, int64_t first_sample, int64_t count) const override {
    const auto& recorded = split == Split::train ? train_ : validation_;
    const auto options = at::TensorOptions().dtype(at::kLong);
    Batch batch{at::empty({count, length_}, options), at::empty({count, length_}, options)};
    auto* inputs = batch.inputs.mutable_data_ptr<int64_t>();
    auto* targets = batch.targets.mutable_data_ptr<int64_t>();
    for (int64_t i = 0; i < count * length_; ++i) {
      const auto sample = static_cast<size_t>(first_sample + i / length_);
      const auto at = static_cast<size_t>(recorded.offsets.at(sample) + i % length_);
      inputs[i] = recorded.tokens.at(at);
      targets[i] = recorded.tokens.at(at + 1);
      batch.largest_token = std::max({batch.largest_token, inputs[i], targets[i]});
    }
    batch.counted_targets = count * length_;
    return batch;
  }

  int64_t samples_per_epoch(Split split) const override {
    return static_cast<int64_t>((split == Split::train ? train_ : validation_).offsets.size());
  }
  int64_t targets_per_sample() const override { return length_; }

 private:
  Recorded train_;
  Recorded validation_;
  int64_t length_;
};

std::unique_ptr<Dataset> build_replay(const Section& section, const DatasetContext& context) {
  const auto order = section.get<std::string>("order");
  const auto recorded = [&](const char* tokens, const char* tensor) {
    return Recorded{read_tokens(section.get<std::string>(tokens)), offsets(order, tensor)};
  };
  return std::make_unique<Replay>(recorded("train", "train_step"),
                                  recorded("validation", "eval_val"), context.sequence_length);
}

const Register<Dataset> dataset{"test_replay", build_replay};

// The n-th evaluation has the n-th part of the validation split. What a run adds at its end is not
// recorded, so it measures nothing.
class ReplayLoss final : public Evaluation {
 public:
  ReplayLoss(int64_t every, int64_t samples) : every_(every), samples_(samples) {}

  std::optional<EvaluationResult> evaluate(const EvaluationContext& context) override {
    if (context.step % every_ != 0) return EvaluationResult{};
    const int64_t begin = context.step / every_ * samples_;
    double loss = 0;
    for (int64_t first = 0; first < samples_; first += context.micro_batch) {
      const auto count = std::min(context.micro_batch, samples_ - first);
      const auto batch = context.read(Split::validation, begin + first, count);
      loss += context.model.loss_sum(batch.inputs, batch.targets).item<double>();
    }
    const auto tokens = static_cast<double>(samples_ * context.sequence_length);
    return EvaluationResult{{{"val/loss", loss / tokens}}, ""};
  }

 private:
  int64_t every_;
  int64_t samples_;
};

std::unique_ptr<Evaluation> build_loss(const Section& section) {
  return std::make_unique<ReplayLoss>(static_cast<int64_t>(section.get<Period>("every").count),
                                      section.get<int64_t>("samples"));
}

const Register<Evaluation> evaluation{"test_replay_loss", build_loss};

constexpr const char* kDatasetSchema = R"({
  "$schema": "http://json-schema.org/draft-07/schema#",
  "description": "the batches of a recorded run",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "order": {"type": "string", "description": "safetensors file with the offsets of every sample"},
    "train": {"type": "string", "description": "raw uint16 tokens that `train_step` points into"},
    "validation": {"type": "string", "description": "raw uint16 tokens that `eval_val` points into"}
  },
  "required": ["order", "train", "validation"]
})";

constexpr const char* kEvaluationSchema = R"({
  "$schema": "http://json-schema.org/draft-07/schema#",
  "description": "the validation losses of a recorded run",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "every": {
      "type": "string", "x-period": ["steps"], "exclusiveMinimum": 0, "description": "how often it was recorded"
    },
    "samples": {"type": "integer", "minimum": 1, "description": "sequences of one evaluation"}
  },
  "required": ["every", "samples"]
})";

}  // namespace

SchemaSet replay_schemas() {
  return SchemaSet::with({{"dataset/test_replay.schema.json", kDatasetSchema},
                          {"evaluation/test_replay_loss.schema.json", kEvaluationSchema}});
}

}  // namespace exprun
