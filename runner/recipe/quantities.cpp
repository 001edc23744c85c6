#include "recipe/quantities.h"

#include "recipe/key_path.h"

namespace exprun {

std::optional<int64_t> integer_at(const Table& root, std::string_view path) {
  const Value* value = find_path(root, path);
  const auto* integer = value == nullptr ? nullptr : value->as<int64_t>();
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

std::optional<std::string> text_at(const Table& root, std::string_view path) {
  const Value* value = find_path(root, path);
  const auto* text = value == nullptr ? nullptr : value->as<std::string>();
  return text == nullptr ? std::nullopt : std::optional(*text);
}

std::optional<Period> period_at(const Table& root, std::string_view path) {
  const std::optional<std::string> text = text_at(root, path);
  return text ? parse_period(*text) : std::nullopt;
}

std::optional<Period> run_length(const Table& root) {
  if (const auto steps = integer_at(root, "run.steps"))
    return Period{static_cast<double>(*steps), PeriodUnit::steps};
  return period_at(root, "run.length");
}

std::optional<int64_t> sequence_length(const Table& root) {
  const std::optional<int64_t> written = integer_at(root, "batch.sequence_length");
  return written ? written : integer_at(root, "model.context_length");
}

std::optional<int64_t> batch_tokens(const Table& root) {
  if (const auto tokens = integer_at(root, "batch.tokens")) return tokens;
  const std::optional<int64_t> sequences = integer_at(root, "batch.sequences");
  const std::optional<int64_t> length = sequence_length(root);
  int64_t tokens = 0;
  if (!sequences || !length || __builtin_mul_overflow(*sequences, *length, &tokens))
    return std::nullopt;
  return tokens;
}

std::optional<int64_t> batch_sequences(const Table& root) {
  if (const auto sequences = integer_at(root, "batch.sequences")) return sequences;
  const std::optional<int64_t> tokens = integer_at(root, "batch.tokens");
  const std::optional<int64_t> length = sequence_length(root);
  if (!tokens || !length || *length <= 0 || *tokens % *length != 0) return std::nullopt;
  return *tokens / *length;
}

std::optional<double> in_steps(const Table& root, const Facts& facts, const Period& period) {
  if (period.unit == PeriodUnit::steps) return period.count;
  const std::optional<int64_t> step = batch_tokens(root);
  if (!step || *step <= 0 || period.unit == PeriodUnit::seconds) return std::nullopt;
  if (period.unit == PeriodUnit::tokens) return period.count / static_cast<double>(*step);
  if (!facts.train_tokens) return std::nullopt;
  return period.count * static_cast<double>(*facts.train_tokens) / static_cast<double>(*step);
}

bool has_validation(const Table& root) {
  if (text_at(root, "dataset.type") != "text")
    return find_path(root, "dataset.validation") != nullptr;
  const Value* fraction = find_path(root, "dataset.validation_fraction");
  if (fraction == nullptr) return true;  // the default keeps some
  if (const auto* real = fraction->as<double>()) return *real > 0;
  return integer_at(root, "dataset.validation_fraction").value_or(0) > 0;
}

}  // namespace exprun
