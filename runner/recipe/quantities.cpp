#include "recipe/quantities.h"

#include <algorithm>
#include <cmath>

#include "recipe/key_path.h"

namespace exprun {

const Value* valid_at(const Table& root, std::string_view path) {
  const Value* value = find_path(root, path);
  return value == nullptr || value->is_invalid ? nullptr : value;
}

bool is_invalid(const Table& root, std::string_view path) {
  const Value* value = find_path(root, path);
  return value != nullptr && value->is_invalid;
}

std::optional<int64_t> integer_at(const Table& root, std::string_view path) {
  const Value* value = valid_at(root, path);
  const auto* integer = value == nullptr ? nullptr : value->as<int64_t>();
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

std::optional<int64_t> positive_at(const Table& root, std::string_view path) {
  const auto integer = integer_at(root, path);
  return integer.value_or(0) >= 1 ? integer : std::nullopt;
}

std::optional<std::string> text_at(const Table& root, std::string_view path) {
  const Value* value = valid_at(root, path);
  const auto* text = value == nullptr ? nullptr : value->as<std::string>();
  return text == nullptr ? std::nullopt : std::optional(*text);
}

std::optional<Period> period_at(const Table& root, std::string_view path) {
  const std::optional<std::string> text = text_at(root, path);
  return text ? parse_period(*text) : std::nullopt;
}

std::optional<int64_t> world_size(const Table& root) {
  if (is_invalid(root, "parallelism.world_size")) return std::nullopt;
  if (!integer_at(root, "parallelism.world_size")) return 1;
  return positive_at(root, "parallelism.world_size");
}

bool is_made_of_text(std::string_view dataset_type) {
  return dataset_type == "text" || dataset_type == "instruction";
}

std::optional<int64_t> vocabulary_of_bytes(const Table& root) {
  const bool raw = is_made_of_text(text_at(root, "dataset.type").value_or(""));
  const bool bytes = raw && text_at(root, "dataset.tokenizer") == "byte";
  return bytes ? std::optional<int64_t>(256) : std::nullopt;
}

std::optional<Period> run_length(const Table& root) {
  if (const auto steps = positive_at(root, "run.steps"))
    return Period{static_cast<double>(*steps), PeriodUnit::steps};
  return period_at(root, "run.length");
}

std::optional<int64_t> sequence_length(const Table& root) {
  if (is_invalid(root, "batch.sequence_length")) return std::nullopt;
  const std::optional<int64_t> written = positive_at(root, "batch.sequence_length");
  return written ? written : positive_at(root, "model.context_length");
}

std::optional<int64_t> batch_tokens(const Table& root) {
  if (const auto tokens = positive_at(root, "batch.tokens")) return tokens;
  const std::optional<int64_t> sequences = positive_at(root, "batch.sequences");
  const std::optional<int64_t> length = sequence_length(root);
  int64_t tokens = 0;
  if (!sequences || !length || __builtin_mul_overflow(*sequences, *length, &tokens))
    return std::nullopt;
  return tokens;
}

std::optional<int64_t> batch_sequences(const Table& root) {
  if (const auto sequences = positive_at(root, "batch.sequences")) return sequences;
  const std::optional<int64_t> tokens = positive_at(root, "batch.tokens");
  const std::optional<int64_t> length = sequence_length(root);
  if (!tokens || !length || *tokens % *length != 0) return std::nullopt;
  return *tokens / *length;
}

bool truncates_examples(const Table& root) {
  return text_at(root, "dataset.too_long") == "truncate";
}

bool blocks_are_separate(const Table& root) {
  return text_at(root, "dataset.blocks") == "separate";
}

int64_t predicted_tokens(const Table& root, int64_t tokens, int64_t length) {
  const int64_t blocks = tokens / length + (tokens % length != 0);
  const int64_t firsts = blocks_are_separate(root) ? blocks : 1;
  return std::max<int64_t>(0, tokens - firsts);
}

int64_t tokens_per_epoch(const Table& root, const DatasetInfo& dataset_info) {
  const std::optional<int64_t> length = sequence_length(root);
  if (length && dataset_info.train_sequences)
    return *length * dataset_info.train_sequences(*length, truncates_examples(root));
  if (!dataset_info.train_tokens || !length) return 0;
  if (text_at(root, "dataset.order") == "random_offsets") return 0;
  // The last sample has one token more than its inputs where blocks overlap.
  const int64_t starts = *dataset_info.train_tokens - !blocks_are_separate(root);
  return std::max<int64_t>(0, starts) / *length * *length;
}

std::optional<double> exact_steps(const Period& period, int64_t tokens_per_step,
                                  int64_t tokens_per_epoch) {
  if (period.unit == PeriodUnit::steps) return period.count;
  if (period.unit == PeriodUnit::seconds || tokens_per_step <= 0) return std::nullopt;
  const double steps = period.count / static_cast<double>(tokens_per_step);
  if (period.unit == PeriodUnit::tokens) return steps;
  if (tokens_per_epoch <= 0) return std::nullopt;
  return steps * static_cast<double>(tokens_per_epoch);
}

int64_t whole_steps(double steps) {
  return steps == 0 ? 0 : std::max<int64_t>(1, std::llround(steps));
}

std::optional<double> in_steps(const Table& root, const DatasetInfo& dataset_info,
                               const Period& period) {
  return exact_steps(period, batch_tokens(root).value_or(0), tokens_per_epoch(root, dataset_info));
}

std::optional<int64_t> run_steps(const Table& root, const DatasetInfo& dataset_info) {
  const std::optional<Period> length = run_length(root);
  const auto steps = length ? in_steps(root, dataset_info, *length) : std::nullopt;
  return steps ? std::optional(whole_steps(*steps)) : std::nullopt;
}

int64_t modest_evaluation(int64_t trained_tokens, int64_t times) {
  const double most =
      static_cast<double>(trained_tokens) / kForwardShare / 7 / static_cast<double>(times);
  return std::max<int64_t>(1, static_cast<int64_t>(std::exp2(std::floor(std::log2(most)))));
}

bool has_validation(const Table& root) {
  if (text_at(root, "dataset.type") == "token_shards")
    return find_path(root, "dataset.validation") != nullptr;
  if (find_path(root, "dataset.validation") != nullptr) return true;
  for (const char* rule : {"dataset.validation_tokens", "dataset.validation_every"})
    if (integer_at(root, rule).value_or(0) > 0) return true;
  const Value* fraction = valid_at(root, "dataset.validation_fraction");
  if (fraction == nullptr) return true;  // the default keeps some
  if (const auto* real = fraction->as<double>()) return *real > 0;
  return integer_at(root, "dataset.validation_fraction").value_or(0) > 0;
}

}  // namespace exprun
