#include "engine/tiny_run.h"

#include <ATen/Parallel.h>

#include "base/files/checkpoints.h"
#include "base/random.h"
#include "engine/checkpoint/open_checkpoint.h"
#include "text/examples.h"

namespace exprun {
namespace {

constexpr const char* kRecipe = R"([run]
steps = 40

[model]
type = "gpt"
num_layers = 2
num_heads = 2
hidden_size = 32
context_length = 16
dropout = 0.1
vocab_size = 61

[dataset]
order = "shuffled_blocks"
type = "token_shards"
train = "train.bin"
validation = "validation.bin"
format = "raw_uint16"

[batch]
sequences = 8
micro_batch = 4

[optimizer]
type = "adamw"
lr = 3e-3

[schedule]
type = "cosine"
warmup = "1 step"

[evaluation.val_loss]
every = "10 steps"

[checkpoint]
every = "7 steps"
)";

constexpr int64_t kTrainTokens = 3000;
constexpr int64_t kValidationTokens = 7668;  // eight batches and a part

RecipeText recipe_text(std::vector<std::string> overrides, const TinyRun::Edit& edit) {
  std::string text = kRecipe;
  text.replace(text.find(edit.from), edit.from.size(), edit.to);
  return {{std::make_shared<SourceFile>(SourceFile{"tiny.toml", text})}, std::move(overrides)};
}

// Half predictable, so that a few steps lower the loss.
std::string random_tokens(int64_t count, std::string_view name) {
  std::string bytes;
  uint64_t token = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool repeat = random_below(2, {random_word(name), 1, static_cast<uint64_t>(i)}) == 0;
    token = repeat ? (token + 1) % kTinyVocabulary
                   : random_below(kTinyVocabulary, {random_word(name), static_cast<uint64_t>(i)});
    bytes.push_back(static_cast<char>(token));
    bytes.push_back(0);
  }
  return bytes;
}

// The same tokens as examples of 3 to 20 tokens, of which the last are learned. Each is one segment
// that is given and one that is learned.
std::vector<uint32_t> some_segments(int64_t tokens, std::string_view name) {
  std::vector<uint32_t> words;
  for (uint64_t i = 0; tokens > 0; ++i) {
    const auto drawn = static_cast<int64_t>(random_below(18, {random_word(name), 2, i})) + 3;
    const int64_t length = tokens - drawn < 3 ? tokens : drawn;
    const auto given = static_cast<int64_t>(
        random_below(static_cast<uint64_t>(length), {random_word(name), 3, i}));
    words.push_back(to_word({given, false, false}));
    words.push_back(to_word({length - given, true, true}));
    tokens -= length;
  }
  return words;
}

}  // namespace

const std::vector<std::string> kOfExamples = {
    "dataset={type='instruction', path='examples.json', tokenizer='gpt2', vocabulary='none', "
    "format='auto'}"};

TinyRun::TinyRun(std::vector<std::string> overrides, const SchemaSet& schemas, const Edit& edit)
    : text(recipe_text(std::move(overrides), edit)),
      recipe(resolve(text, {std::nullopt, kTrainTokens, kValidationTokens}, schemas)) {
  data = make_data();
  at::set_num_threads(1);  // on a busy machine two would wait for each other at every operator
}

PreparedData TinyRun::make_data() const {
  const auto shard = [&](const char* name, int64_t tokens) {
    const auto file = folder_.write(name, random_tokens(tokens, name));
    return TokenShard{file.string(), tokens, 0};
  };
  PreparedData made;
  made.fingerprint = "0123456789abcdef0123456789abcdef";
  made.train = {shard("train.bin", kTrainTokens)};
  made.validation = {shard("validation.bin", kValidationTokens)};
  const auto segments = [&](const char* name, int64_t tokens) {
    ShardWriter writer(folder_.path() / name, sizeof(uint32_t));
    writer.append(PackedTokens(sizeof(uint32_t), some_segments(tokens, name)).all());
    return writer.finish();
  };
  made.train_segments = {segments("train.segments", kTrainTokens)};
  made.validation_segments = {segments("validation.segments", kValidationTokens)};
  return made;
}

void MemoryRecorder::evaluation(int64_t step, const std::string& name,
                                const EvaluationResult& result) {
  evaluations.push_back({step, name, result});
}

void MemoryRecorder::rolled_back(const Position& position) {
  std::erase_if(steps, [&](const StepRecord& record) { return record.step > position.step; });
  std::erase_if(evaluations,
                [&](const Evaluated& evaluated) { return evaluated.step > position.step; });
}

void MemoryRecorder::event(const std::string& level, const std::string& kind,
                           const std::string& text) {
  events.push_back(level + " " + kind + ": " + text);
}

std::map<std::string, std::vector<std::pair<int64_t, double>>> MemoryRecorder::series() const {
  std::map<std::string, std::vector<std::pair<int64_t, double>>> all;
  for (const StepRecord& record : steps) {
    all["train/loss"].emplace_back(record.step, record.loss);
    all["lr"].emplace_back(record.step, record.lr);
    all["grad_norm"].emplace_back(record.step, record.grad_norm);
    if (record.skipped_updates)
      all["skipped_updates"].emplace_back(record.step,
                                          static_cast<double>(*record.skipped_updates));
    if (record.passed_over_batches)
      all["passed_over_batches"].emplace_back(record.step,
                                              static_cast<double>(*record.passed_over_batches));
  }
  for (const Evaluated& evaluated : evaluations)
    for (const auto& [metric, value] : evaluated.result.metrics)
      all[metric].emplace_back(evaluated.step, value);
  return all;
}

std::function<StopRequest()> stop_at_look(int n) {
  return [looks = 0, n]() mutable {
    return ++looks >= n ? StopRequest::interrupt : StopRequest::none;
  };
}

StopRequest never_stop() {
  return StopRequest::none;
}

std::map<std::string, at::Tensor> all_tensors(const Pipeline& pipeline) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : pipeline.optimizers().parameter_tensors())
    tensors[name] = tensor.detach().to(at::TensorOptions(at::kCPU), false, /*copy=*/true);
  for (const auto& [name, tensor] : pipeline.optimizers().gathered_state())
    tensors[name] = tensor.clone();
  if (const auto& average = pipeline.train_state.average)
    for (const auto& [name, tensor] : average->tensors())
      tensors[name + "/average"] = tensor.to(at::TensorOptions(at::kCPU), false, /*copy=*/true);
  return tensors;
}

Attempt make_attempt(const TinyRun& run, Recorder& recorder,
                     const std::function<StopRequest()>& stop_requested, at::Device device,
                     const std::function<void(Pipeline&)>& prepare) {
  const RunFolder folder{run.folder()};
  Pipeline pipeline = run.build(single_process(), device);
  if (prepare) prepare(pipeline);
  Position start;
  std::optional<Position> resumed_from;
  if (const auto found = complete_checkpoints(folder); !found.empty()) {
    start = open_checkpoint(found[0].path, run.recipe.hash(), run.data.fingerprint).position;
    load_tensors(found[0].path, pipeline);
    resumed_from = start;
  }
  CheckpointLedger ledger;
  CheckpointWriter saver(folder, ledger, recorder, resumed_from);
  const TrainingResult result = Trainer(pipeline, {recorder, &saver, stop_requested}).run(start);
  return {result, all_tensors(pipeline)};
}

}  // namespace exprun
