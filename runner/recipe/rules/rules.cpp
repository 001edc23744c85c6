#include "recipe/rules/rules.h"

#include <algorithm>

#include "base/strings.h"
#include "recipe/key_path.h"
#include "recipe/overrides.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

// A factor of a larger number that is beyond it is not looked for: a help text takes no seconds.
constexpr int64_t kLargestTried = 1'000'000;

std::string would(int64_t below, int64_t above) {
  if (below < 1 || below == above) return std::to_string(above) + " would work";
  return std::to_string(below) + " or " + std::to_string(above) + " would work";
}

constexpr Rule kRules[] = {
    heads_divide_width,
    shared_heads_divide_heads,
    heads_fit_the_model,
    rope_scaling_has_a_range,
    rotary_heads_are_even,
    vocabulary_covers_tokenizer,
    vocabulary_covers_shards,
    vocabulary_is_known,
    optimizer_takes_something,
    groups_share_no_glob,
    adapter_has_weights,
    adapter_rank_is_below_width,
    weight_decay_has_parameters,
    scaled_rate_has_a_reference,
    nesterov_has_momentum,
    stochastic_rounding_has_updates_in_fp32,
    one_size_of_batch,
    tokens_are_whole_sequences,
    micro_batches_fill_batch,
    sequence_fits_context,
    batch_is_within_an_epoch,
    one_length_of_run,
    run_has_a_whole_step,
    warmup_has_a_whole_step,
    warmup_fits_run,
    decay_fits_run,
    decay_follows_warmup,
    decayed_rate_trains,
    schedule_has_an_end_of_decay,
    epochs_have_meaning,
    periods_fit_run,
    outliers_are_possible,
    outliers_come_within_run,
    rollback_is_possible,
    validation_has_data,
    validation_covers_evaluation,
    evaluations_take_less_than_training,
    data_hold_a_sequence,
    sequences_hold_an_example,
    packed_validation_is_whole_blocks,
    templates_have_fields,
    keys_have_an_effect,
    text_has_tokenizer,
    prompt_is_not_empty,
    instruction_has_a_template,
    prompt_can_be_encoded,
    series_are_measured_once,
    best_metric_is_measured,
    kept_best_is_best_metric,
};

}  // namespace

std::string near_divisors(int64_t whole, int64_t wanted) {
  int64_t below = 1, above = whole;
  for (int64_t small = 1; small <= std::min(whole / small, kLargestTried); ++small) {
    if (whole % small != 0) continue;
    for (const int64_t divisor : {small, whole / small}) {
      if (divisor <= wanted) below = std::max(below, divisor);
      if (divisor >= wanted) above = std::min(above, divisor);
    }
  }
  return would(std::min(below, above), above);
}

std::string near_multiples(int64_t unit, int64_t wanted) {
  const int64_t below = wanted / unit * unit;
  int64_t above = 0;
  if (__builtin_add_overflow(below, unit, &above)) above = below;
  return would(below, above);
}

SourceSpan place_of(const Table& root, std::string_view path) {
  const Value* value = find_path(root, path);
  if (value != nullptr && value->where) return value->where;
  const Entry* table = root.entry(split_path(path).front());
  const std::string parent = parent_path(path);
  if (const Value* outer = find_path(root, parent); outer && outer->as<Table>())
    if (const auto removed = outer->as<Table>()->removed_at(last_part(path))) return *removed;
  if (split_path(parent).size() > 1)
    if (const Value* outer = find_path(root, parent_path(parent)); outer && outer->as<Table>())
      if (const Entry* named = outer->as<Table>()->entry(last_part(parent)))
        if (named->where) return named->where;
  if (table != nullptr && table->where) return table->where;
  return {root.where.file, 1, 1, 1};
}

bool is_written(const Table& root, std::string_view path) {
  const Value* value = find_path(root, path);
  return value != nullptr &&
         (value->origin == Origin::file || value->origin == Origin::command_line);
}

bool asks_for_something(const RuleInput& input, const std::string& path) {
  const Value* value = valid_at(input.root, path);
  if (value == nullptr || !is_written(input.root, path)) return false;
  const Schema* schema = schema_at(input.schemas, input.root, path);
  if (schema == nullptr || !schema->contains("default")) return true;
  return toml_text(*value) != toml_text(value_of_json((*schema)["default"], Origin::default_value));
}

std::string key_of_length(const Table& root) {
  return is_written(root, "batch.sequence_length") ? "batch.sequence_length"
                                                   : "model.context_length";
}

Diagnostic clash(const Table& root, const std::vector<std::string>& paths, std::string message,
                 std::string help, Severity severity) {
  const SourceSpan first = place_of(root, paths.front());
  const std::string changed = newest_of(root, paths);
  if (changed == paths.front()) return {first, std::move(message), std::move(help), {}, severity};
  if (is_written(root, paths.front()))
    help += (help.empty() ? "'" : "; '") + last_part(paths.front()) + "' is set in " +
            first.file->name + ":" + std::to_string(first.line);
  return {place_of(root, changed), std::move(message), std::move(help), {}, severity};
}

std::vector<std::string> evaluation_tables(const Table& root) {
  std::vector<std::string> paths;
  const Value* evaluation = root.find("evaluation");
  if (const Table* table = evaluation == nullptr ? nullptr : evaluation->as<Table>())
    for (const std::string& name : table->keys()) paths.push_back(join_path("evaluation", name));
  return paths;
}

bool has_table(const Table& root, std::string_view table) {
  const Value* value = root.find(table);
  return value != nullptr && value->as<Table>() != nullptr &&
         value->origin != Origin::default_value;
}

std::span<const Rule> rules() {
  return kRules;
}

void check_rules(const SchemaSet& schemas, const Table& root, const DatasetInfo& dataset_info,
                 Diagnostics& diagnostics) {
  for (const Rule rule : rules()) rule({schemas, root, dataset_info}, diagnostics);
}

void check_no_sweep(const Table& root, const std::string& recipe, Diagnostics& diagnostics) {
  const Entry* sweep = root.entry("sweep");
  if (sweep == nullptr || sweep->value.is_invalid) return;
  diagnostics.push_back({sweep->where, "a recipe with [sweep] is not a single run",
                         "run it with `exprun sweep " + shell_quoted(recipe) + "`"});
}

}  // namespace exprun
