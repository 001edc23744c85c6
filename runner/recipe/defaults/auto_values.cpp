#include "recipe/defaults/auto_values.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/period.h"
#include "base/utf8.h"
#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/series.h"
#include "recipe/value.h"

namespace exprun {
namespace {

using Derived = std::optional<Value::Data>;

constexpr int64_t kMostMicroBatchTokens = 16384;

bool is_name_character(char c) {
  return is_bare_key_character(c) || c == '.';
}

// The blocks beyond ASCII that have punctuation, symbols, emoji and what nobody can read.
constexpr std::pair<char32_t, char32_t> kNoLetters[] = {
    {0x80, 0xBF},     {0xD7, 0xD7},     {0xF7, 0xF7},       {0x2000, 0x206F},   {0x20A0, 0x20CF},
    {0x2190, 0x2BFF}, {0x2E00, 0x2E7F}, {0x3000, 0x3004},   {0x3008, 0x3020},   {0xD800, 0xF8FF},
    {0xFE00, 0xFE1F}, {0xFE30, 0xFE6F}, {0xFEFF, 0xFF0F},   {0xFF1A, 0xFF20},   {0xFF3B, 0xFF40},
    {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF}, {0x1F000, 0x1FAFF}, {0xE0000, 0x10FFFF}};

bool is_letter_beyond_ascii(char32_t c) {
  return c >= 0x80 && std::none_of(std::begin(kNoLetters), std::end(kNoLetters),
                                   [c](const auto& of) { return of.first <= c && c <= of.second; });
}

Derived vocab_size(const DeriveInput& input) {
  if (const auto bytes = vocabulary_of_bytes(input.root)) return *bytes;
  if (!input.dataset_info.vocab_size) return std::nullopt;
  return *input.dataset_info.vocab_size;
}

Derived context_length(const DeriveInput& input) {
  const auto length = integer_at(input.root, "model.context_length");
  return length ? Derived(*length) : std::nullopt;
}

Derived num_key_value_heads(const DeriveInput& input) {
  const auto heads = integer_at(input.root, "model.num_heads");
  return heads ? Derived(*heads) : std::nullopt;
}

Derived head_dim(const DeriveInput& input) {
  const auto width = positive_at(input.root, "model.hidden_size");
  const auto heads = positive_at(input.root, "model.num_heads");
  if (!width || !heads || *width % *heads != 0) return std::nullopt;
  return *width / *heads;
}

// What each layout meant before the direction could be said.
Derived rotary_direction(const DeriveInput& input) {
  const auto layout = text_at(input.root, "model.position.layout");
  if (!layout) return std::nullopt;
  return std::string(*layout == "half_split" ? "clockwise" : "counter_clockwise");
}

Derived feed_forward_size(const DeriveInput& input) {
  const auto width = positive_at(input.root, "model.hidden_size");
  int64_t size = 0;
  if (!width || __builtin_mul_overflow(8, *width, &size)) return std::nullopt;
  if (text_at(input.root, "model.activation") != "swiglu") return size / 2;
  // Shazeer 2020: three matrices of 8/3 have the parameters of two of 4.
  const auto multiple = positive_at(input.root, "model.feed_forward_multiple");
  if (!multiple) return std::nullopt;
  return (size / 3 + *multiple - 1) / *multiple * *multiple;
}

Derived micro_batch(const DeriveInput& input) {
  const auto sequences = batch_sequences(input.root);
  const auto length = sequence_length(input.root);
  const auto ranks = world_size(input.root);
  if (!sequences || !length || !ranks) return std::nullopt;
  const int64_t share = std::max<int64_t>(1, *sequences / *ranks);  // of a rank
  const int64_t most = std::max<int64_t>(1, kMostMicroBatchTokens / *length);
  int64_t micro = std::min(share, most);
  while (share % micro != 0) --micro;
  return micro;
}

// A part of the run in the run's own unit, so that it does not depend on the data.
Derived part_of_run(const DeriveInput& input, double parts) {
  std::optional<Period> length = run_length(input.root);
  if (!length) return std::nullopt;
  length->count /= parts;
  if (length->unit != PeriodUnit::epochs) length->count = std::max(1.0, std::round(length->count));
  return to_string(*length);
}

Derived decay_length(const DeriveInput& input) {
  const std::optional<Period> until = period_at(input.root, "schedule.decay_until");
  if (!until) return part_of_run(input, 5);
  Period length = *until;
  length.count /= 5;
  // Up, so that it begins where llm.c's int(0.8 n) does.
  if (length.unit != PeriodUnit::epochs) length.count = std::ceil(length.count);
  return to_string(length);
}

// llm.c's runs of GPT-3 take 7. In 73 healthy runs of 2,000 steps with 64 to 512 tokens a step, the
// worst loss came to 5.1 and the worst logarithm of a gradient norm to 7.8, but for one norm that
// was 150 times the others.
Derived divergence_z_score(const DeriveInput& input) {
  const auto policy = text_at(input.root, "run.on_divergence");
  if (!policy) return std::nullopt;
  return *policy == "stop" ? 0.0 : 8.0;
}

Derived best_goal(const DeriveInput& input) {
  const auto metric = text_at(input.root, "run.best_metric");
  if (!metric) return std::nullopt;
  return std::string(larger_is_better(*metric).value_or(false) ? "maximize" : "minimize");
}

Derived kept_best(const DeriveInput& input) {
  const auto metric = text_at(input.root, "run.best_metric");
  if (!metric) return std::nullopt;
  const bool measured = measured_series(input.schemas, input.root).has(*metric);
  return measured ? *metric : std::string("none");
}

Derived evaluation_every(const DeriveInput& input, const std::string& type) {
  return part_of_run(input, type == "sample" ? 1 : 10);
}

Derived sample_end_of_text(const DeriveInput& input, const std::string& evaluation) {
  return std::string(text_at(input.root, join_path(evaluation, "instruction")) ? "stop"
                                                                               : "continue");
}

}  // namespace

std::string name_of_runs(const SchemaSet& schemas, const std::string& stem) {
  std::string name;
  for (const CodePoint& c : code_points(stem)) {
    const bool ascii = c.value < 0x80 && is_name_character(static_cast<char>(c.value));
    name += c.valid && (ascii || is_letter_beyond_ascii(c.value)) ? c.bytes : "_";
  }
  const bool good_start = !name.empty() && name[0] != '-' && name[0] != '.';
  const Schema& schema = schemas.find("run")->at("properties").at("name");
  return std::string(
      first_bytes(good_start ? name : "_" + name, schema.at("maxLength").get<size_t>()));
}

Derived derive(const DeriveInput& input, const std::string& path, const std::string& type) {
  if (path == "run.name")
    return name_of_runs(input.schemas, std::filesystem::path(input.file).stem().string());
  if (path == "run.best_goal") return best_goal(input);
  if (path == "run.divergence.z_score") return divergence_z_score(input);
  if (path == "model.vocab_size") return vocab_size(input);
  if (path == "model.num_key_value_heads") return num_key_value_heads(input);
  if (path == "model.head_dim") return head_dim(input);
  if (path == "model.feed_forward_size") return feed_forward_size(input);
  if (path == "model.position.direction") return rotary_direction(input);
  if (path == "batch.sequence_length") return context_length(input);
  if (path == "batch.micro_batch") return micro_batch(input);
  if (path == "schedule.decay_until") return part_of_run(input, 1);
  if (path == "schedule.decay_length") return decay_length(input);
  if (path == "checkpoint.every") return part_of_run(input, 20);
  if (path == "checkpoint.keep_best") return kept_best(input);
  if (path == "metrics.progress_every") return part_of_run(input, 50);
  if (parent_path(parent_path(path)) == "evaluation" && last_part(path) == "every")
    return evaluation_every(input, type);
  if (type == "sample" && last_part(path) == "end_of_text")
    return sample_end_of_text(input, parent_path(path));
  return std::nullopt;
}

}  // namespace exprun
