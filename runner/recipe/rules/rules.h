// Rules over several tables: each a small function, reported at the key to change.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dataset_info.h"
#include "base/diagnostic.h"
#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

struct RuleInput {
  const SchemaSet& schemas;
  const Table& root;
  const DatasetInfo& dataset_info;
};

using Rule = void (*)(const RuleInput& input, Diagnostics& diagnostics);

// Where to change a key: its value, the header of its table if it is not written, or the recipe.
SourceSpan place_of(const Table& root, std::string_view path);

// The key is in the recipe or an override, not a default or derived.
bool is_written(const Table& root, std::string_view path);

// The same, and it is not the default, which `exprun show` writes out.
bool asks_for_something(const RuleInput& input, const std::string& path);

// The key that says how long sequences are.
std::string key_of_length(const Table& root);

// A mistake between keys, of which the message names the first: at its place, or at that of another
// which the command line has changed while the first stands in a file. What the user typed counts
// more than what was stored with a run.
Diagnostic clash(const Table& root, const std::vector<std::string>& paths, std::string message,
                 std::string help = "", Severity severity = Severity::error);

// A warning that the key at `path` has no effect without `lacking`: "'block_tokens'".
Diagnostic idle_key(const Table& root, const std::string& path, const std::string& lacking);

// That a tokenizer of characters has no token for one of a prompt, or of what `name` is; without a
// place. Nothing where it has, and where its characters are not known.
std::optional<Diagnostic> unwritable_prompt(const DatasetInfo& dataset_info,
                                            const std::string& name, const std::string& prompt);

// What an evaluation reads each time.
struct EvaluationCost {
  std::string table, key;  // "evaluation.val_loss", and the key that says how much it reads
  int64_t tokens = 0;
  bool is_exact = false;
  // By how many tokens would take little time, and how often it is made: twice at least.
  std::function<std::string(int64_t tokens, int64_t times)> remedy;
};
// Whether reading so many tokens takes time that a user notices.
using IsNoticeable = std::function<bool(double tokens)>;

// That it takes longer than the training; nothing where it does not.
std::optional<Diagnostic> long_evaluation(const RuleInput& input, const EvaluationCost& cost,
                                          const IsNoticeable& is_noticeable);

// The same of all evaluations that read validation data.
Diagnostics long_evaluations(const RuleInput& input, const IsNoticeable& is_noticeable);

// So many tokens take time to read, whatever the model.
inline constexpr double kNoticeableTokens = 250'000;

// The paths of the tables in [evaluation].
std::vector<std::string> evaluation_tables(const Table& root);

// Whether a top-level table is; its absence is reported by the validator.
bool has_table(const Table& root, std::string_view table);

// model and optimizer
void heads_divide_width(const RuleInput& input, Diagnostics& diagnostics);
void shared_heads_divide_heads(const RuleInput& input, Diagnostics& diagnostics);
void heads_fit_the_model(const RuleInput& input, Diagnostics& diagnostics);
void rope_scaling_has_a_range(const RuleInput& input, Diagnostics& diagnostics);
void rotary_heads_are_even(const RuleInput& input, Diagnostics& diagnostics);
void vocabulary_covers_tokenizer(const RuleInput& input, Diagnostics& diagnostics);
void vocabulary_covers_shards(const RuleInput& input, Diagnostics& diagnostics);
void vocabulary_is_known(const RuleInput& input, Diagnostics& diagnostics);
void optimizer_takes_something(const RuleInput& input, Diagnostics& diagnostics);
void groups_share_no_glob(const RuleInput& input, Diagnostics& diagnostics);
void adapter_has_weights(const RuleInput& input, Diagnostics& diagnostics);
void adapter_rank_is_below_width(const RuleInput& input, Diagnostics& diagnostics);
void weight_decay_has_parameters(const RuleInput& input, Diagnostics& diagnostics);
void scaled_rate_has_a_reference(const RuleInput& input, Diagnostics& diagnostics);
void nesterov_has_momentum(const RuleInput& input, Diagnostics& diagnostics);
void stochastic_rounding_has_updates_in_fp32(const RuleInput& input, Diagnostics& diagnostics);

// the batch
void one_size_of_batch(const RuleInput& input, Diagnostics& diagnostics);
void tokens_are_whole_sequences(const RuleInput& input, Diagnostics& diagnostics);
void micro_batches_fill_batch(const RuleInput& input, Diagnostics& diagnostics);
void sequence_fits_context(const RuleInput& input, Diagnostics& diagnostics);
void batch_is_within_an_epoch(const RuleInput& input, Diagnostics& diagnostics);

// lengths and periods
void one_length_of_run(const RuleInput& input, Diagnostics& diagnostics);
void run_has_a_whole_step(const RuleInput& input, Diagnostics& diagnostics);
void warmup_has_a_whole_step(const RuleInput& input, Diagnostics& diagnostics);
void warmup_fits_run(const RuleInput& input, Diagnostics& diagnostics);
void decay_fits_run(const RuleInput& input, Diagnostics& diagnostics);
void decay_follows_warmup(const RuleInput& input, Diagnostics& diagnostics);
void decayed_rate_trains(const RuleInput& input, Diagnostics& diagnostics);
void schedule_has_an_end_of_decay(const RuleInput& input, Diagnostics& diagnostics);
void epochs_have_meaning(const RuleInput& input, Diagnostics& diagnostics);
void periods_fit_run(const RuleInput& input, Diagnostics& diagnostics);
void rollback_is_possible(const RuleInput& input, Diagnostics& diagnostics);
void outliers_are_possible(const RuleInput& input, Diagnostics& diagnostics);
void outliers_come_within_run(const RuleInput& input, Diagnostics& diagnostics);

// data and what is measured on them
void validation_has_data(const RuleInput& input, Diagnostics& diagnostics);
void validation_covers_evaluation(const RuleInput& input, Diagnostics& diagnostics);
void evaluations_take_less_than_training(const RuleInput& input, Diagnostics& diagnostics);
void data_hold_a_sequence(const RuleInput& input, Diagnostics& diagnostics);
void sequences_hold_an_example(const RuleInput& input, Diagnostics& diagnostics);
void packed_validation_is_whole_blocks(const RuleInput& input, Diagnostics& diagnostics);
void templates_have_fields(const RuleInput& input, Diagnostics& diagnostics);
void keys_have_an_effect(const RuleInput& input, Diagnostics& diagnostics);
void text_has_tokenizer(const RuleInput& input, Diagnostics& diagnostics);
void prompt_is_not_empty(const RuleInput& input, Diagnostics& diagnostics);
void instruction_has_a_template(const RuleInput& input, Diagnostics& diagnostics);
void prompt_can_be_encoded(const RuleInput& input, Diagnostics& diagnostics);
void series_are_measured_once(const RuleInput& input, Diagnostics& diagnostics);
void best_metric_is_measured(const RuleInput& input, Diagnostics& diagnostics);
void kept_best_is_best_metric(const RuleInput& input, Diagnostics& diagnostics);

// All rules.
std::span<const Rule> rules();

// `root` is completed, or as far as a recipe with other mistakes could be: a rule whose keys are
// absent or not valid is silent.
void check_rules(const SchemaSet& schemas, const Table& root, const DatasetInfo& dataset_info,
                 Diagnostics& diagnostics);

// A sweep's recipe cannot be run plainly. `recipe` is its file.
void check_no_sweep(const Table& root, const std::string& recipe, Diagnostics& diagnostics);

// Numbers that would fit, for help texts: the divisors of `whole` on both sides of `wanted`: "4 or
// 8 would".
std::string near_divisors(int64_t whole, int64_t wanted);

// The multiples of `unit` on both sides of `wanted`, none below the unit itself: "1024 or 2048
// would".
std::string near_multiples(int64_t unit, int64_t wanted);

}  // namespace exprun
