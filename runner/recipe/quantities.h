// Numbers that several keys of a recipe make together. Nothing where a key is absent, not yet
// derived or not valid.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/period.h"
#include "recipe/facts.h"
#include "recipe/value.h"

namespace exprun {

std::optional<int64_t> integer_at(const Table& root, std::string_view path);
std::optional<std::string> text_at(const Table& root, std::string_view path);
std::optional<Period> period_at(const Table& root, std::string_view path);

// run.length or run.steps.
std::optional<Period> run_length(const Table& root);

// batch.sequence_length, or the model's context_length.
std::optional<int64_t> sequence_length(const Table& root);

// Of the global batch.
std::optional<int64_t> batch_tokens(const Table& root);
std::optional<int64_t> batch_sequences(const Table& root);

// In steps, as the engine will round it; epochs need facts.
std::optional<double> in_steps(const Table& root, const Facts& facts, const Period& period);

// Whether the dataset has a validation split, as far as the recipe says.
bool has_validation(const Table& root);

}  // namespace exprun
