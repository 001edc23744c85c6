// Numbers that several keys of a recipe make together. Nothing where a key is absent, not yet
// derived or not valid.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dataset_info.h"
#include "base/period.h"
#include "recipe/value.h"

namespace exprun {

// The value at a path; null if it is absent or invalid.
const Value* valid_at(const Table& root, std::string_view path);

// Whether the value at a path is a mistake: what would stand in for an absent one must not then.
bool is_invalid(const Table& root, std::string_view path);

std::optional<int64_t> integer_at(const Table& root, std::string_view path);
std::optional<int64_t> positive_at(const Table& root, std::string_view path);  // 1 or more
std::optional<std::string> text_at(const Table& root, std::string_view path);
std::optional<Period> period_at(const Table& root, std::string_view path);

// Ranks of the run; 1 where the machine decides.
std::optional<int64_t> world_size(const Table& root);

// Whether datasets of this type are text that becomes token shards, and not token shards already.
bool is_made_of_text(std::string_view dataset_type);

// What the recipe's tokenizer alone says, before any data are read: there are 256 bytes.
std::optional<int64_t> vocabulary_of_bytes(const Table& root);

// run.length or run.steps.
std::optional<Period> run_length(const Table& root);

// batch.sequence_length, or the model's context_length; at least 1, as are the sizes of a batch.
std::optional<int64_t> sequence_length(const Table& root);

// Of the global batch.
std::optional<int64_t> batch_tokens(const Table& root);
std::optional<int64_t> batch_sequences(const Table& root);

// Whether an example that is longer than a sequence is truncated (dataset.too_long), or dropped.
bool truncates_examples(const Table& root);

// Whether a sequence's last token predicts nothing (dataset.blocks), instead of the next one's
// first.
bool blocks_are_separate(const Table& root);

// Of `tokens` tokens in sequences of `length`, the last of them perhaps short: how many something
// predicts.
int64_t predicted_tokens(const Table& root, int64_t tokens, int64_t length);

// Tokens of one pass over the training split, which is made of whole sequences (the last has one
// token more than its inputs); those of packed examples count as if they were full. 0 if the
// dataset's order has no epochs, or its size is not known.
int64_t tokens_per_epoch(const Table& root, const DatasetInfo& dataset_info);

// What a period is in steps, before rounding. Nothing for a time, and for epochs without a length.
std::optional<double> exact_steps(const Period& period, int64_t tokens_per_step,
                                  int64_t tokens_per_epoch);

// To the nearest step, at least 1 unless it is 0.
int64_t whole_steps(double steps);

// exact_steps() of a recipe; epochs need the DatasetInfo.
std::optional<double> in_steps(const Table& root, const DatasetInfo& dataset_info,
                               const Period& period);

// The length of the run, as every program rounds it.
std::optional<int64_t> run_steps(const Table& root, const DatasetInfo& dataset_info);

// The share of training that a forward pass alone takes: the backward pass takes twice as long.
inline constexpr double kForwardShare = 1.0 / 3;

// How many tokens an evaluation may predict, to take a seventh of the training at most when it is
// made so many times: a power of two.
int64_t modest_evaluation(int64_t trained_tokens, int64_t times);

// Whether the dataset has a validation split, as far as the recipe says.
bool has_validation(const Table& root);

}  // namespace exprun
