#include "base/synonyms.h"

#include <algorithm>
#include <iterator>

namespace exprun {
namespace {

constexpr const char* kPeriod = ", as in \"100 steps\"";
constexpr const char* kEpochs = ", as in \"3 epochs\"";
constexpr const char* kBetas = ", as in [0.9, 0.95]";
constexpr const char* kGlobal = ", of one update over all ranks and micro-batches";
constexpr const char* kMicro = ", the part of the global batch that is computed at once";

constexpr KeySynonym kKeys[] = {
    {"batch_size", "batch.sequences", kGlobal},
    {"global_batch_size", "batch.sequences", kGlobal},
    {"train_batch_size", "batch.sequences", kGlobal},
    {"per_device_train_batch_size", "batch.micro_batch", kMicro},
    {"gradient_accumulation_steps", "batch.micro_batch", kMicro},
    {"grad_accum_steps", "batch.micro_batch", kMicro},
    {"accumulate_grad_batches", "batch.micro_batch", kMicro},
    {"block_size", "model.context_length"},
    {"n_ctx", "model.context_length"},
    {"n_positions", "model.context_length"},
    {"max_seq_len", "model.context_length"},
    {"max_position_embeddings", "model.context_length"},
    {"seq_len", "batch.sequence_length"},
    {"n_embd", "model.hidden_size"},
    {"d_model", "model.hidden_size"},
    {"dim", "model.hidden_size"},
    {"d_ff", "model.feed_forward_size"},
    {"intermediate_size", "model.feed_forward_size"},
    {"n_layer", "model.num_layers"},
    {"n_layers", "model.num_layers"},
    {"num_hidden_layers", "model.num_layers"},
    {"n_head", "model.num_heads"},
    {"n_heads", "model.num_heads"},
    {"num_attention_heads", "model.num_heads"},
    {"n_kv_heads", "model.num_key_value_heads"},
    {"learning_rate", "optimizer.lr"},
    {"max_lr", "optimizer.lr"},
    {"min_lr", "schedule.final_fraction", ", a fraction of lr"},
    {"beta1", "optimizer.betas", kBetas},
    {"beta2", "optimizer.betas", kBetas},
    {"wd", "optimizer.weight_decay"},
    {"grad_clip", "optimizer.max_grad_norm"},
    {"gradient_clip_val", "optimizer.max_grad_norm"},
    {"clip_grad_norm", "optimizer.max_grad_norm"},
    {"max_norm", "optimizer.max_grad_norm"},
    {"max_iters", "run.steps"},
    {"max_steps", "run.steps"},
    {"num_iterations", "run.steps"},
    {"epochs", "run.length", kEpochs},
    {"num_epochs", "run.length", kEpochs},
    {"num_train_epochs", "run.length", kEpochs},
    {"max_epochs", "run.length", kEpochs},
    {"warmup_iters", "schedule.warmup", kPeriod},
    {"warmup_steps", "schedule.warmup", kPeriod},
    {"lr_decay_iters", "schedule.decay_until", kPeriod},
    {"eval_interval", "evaluation.val_loss.every", kPeriod},
    {"eval_every", "evaluation.val_loss.every", kPeriod},
    {"eval_steps", "evaluation.val_loss.every", kPeriod},
    {"eval_iters", "evaluation.val_loss.tokens"},
    {"save_interval", "checkpoint.every", kPeriod},
    {"save_steps", "checkpoint.every", kPeriod},
    {"log_interval", "metrics.progress_every", kPeriod},
    {"logging_steps", "metrics.progress_every", kPeriod},
    {"dtype", "precision.compute"},
    {"mixed_precision", "precision.compute"},
};

struct Pair {
  const char *theirs, *ours;
};

constexpr Pair kTables[] = {
    {"train", "run"},    {"training", "run"},       {"trainer", "run"},
    {"data", "dataset"}, {"scheduler", "schedule"}, {"lr_scheduler", "schedule"},
};

constexpr Pair kValues[] = {
    {"gpu", "cuda"}, {"half", "fp16"}, {"float", "fp32"}, {"single", "fp32"}, {"rope", "rotary"},
};

constexpr const char* kTrain = "; `exprun RECIPE` trains, where RECIPE is a .toml file";
constexpr const char* kLogs = "; what a run has said is in the folder that `exprun show RUN` names";

// A word is a command; what begins with a sign is said as it is.
constexpr Pair kCommands[] = {
    {"train", kTrain},      {"run", kTrain},       {"fit", kTrain},       {"start", kTrain},
    {"logs", kLogs},        {"log", kLogs},        {"list", "ls"},        {"runs", "ls"},
    {"status", "ls"},       {"ps", "ls"},          {"delete", "rm"},      {"remove", "rm"},
    {"continue", "resume"}, {"restart", "resume"}, {"compare", "report"}, {"generate", "sample"},
    {"evaluate", "eval"},   {"test", "eval"},      {"validate", "check"}, {"init", "new"},
    {"create", "new"},      {"prepare", "data"},   {"download", "data"},  {"info", "show"},
    {"sql", "query"},       {"prune", "gc"},       {"repeat", "rerun"},
};

constexpr std::string_view kRanges[] = {
    "loguniform", "log_uniform", "uniform",  "quniform", "randint", "normal",   "logspace",
    "linspace",   "logrange",    "interval", "glob",     "shuffle", "geomspace"};

const char* found_in(const Pair* begin, const Pair* end, std::string_view word) {
  const Pair* found =
      std::find_if(begin, end, [&](const Pair& pair) { return pair.theirs == word; });
  return found == end ? nullptr : found->ours;
}

}  // namespace

const KeySynonym* key_synonym(std::string_view word) {
  const auto* found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [&](const auto& k) { return k.word == word; });
  return found == std::end(kKeys) ? nullptr : found;
}

std::optional<std::string> table_synonym(std::string_view word) {
  const char* ours = found_in(std::begin(kTables), std::end(kTables), word);
  return ours ? std::optional<std::string>(ours) : std::nullopt;
}

std::optional<std::string> value_synonym(std::string_view word,
                                         const std::vector<std::string>& choices) {
  const char* ours = found_in(std::begin(kValues), std::end(kValues), word);
  if (!ours || std::find(choices.begin(), choices.end(), ours) == choices.end())
    return std::nullopt;
  return ours;
}

std::string command_synonym(std::string_view word) {
  const char* ours = found_in(std::begin(kCommands), std::end(kCommands), word);
  if (!ours) return "";
  return *ours == ';' ? ours : std::string(", did you mean '") + ours + "'?";
}

bool is_foreign_range(std::string_view text) {
  return text.ends_with(')') && std::any_of(std::begin(kRanges), std::end(kRanges), [&](auto name) {
           return text.starts_with(name) && text.substr(name.size()).starts_with('(');
         });
}

}  // namespace exprun
