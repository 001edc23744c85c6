#include <cmath>

#include "base/format_units.h"
#include "base/strings.h"
#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"
#include "recipe/schema/key_lookup.h"

namespace exprun {
namespace {

// a > b, as far as their units can be compared.
bool longer(const RuleInput& input, const Period& a, const Period& b) {
  if (a.unit == b.unit) return a.count > b.count;
  const auto a_steps = in_steps(input.root, input.dataset_info, a);
  const auto b_steps = in_steps(input.root, input.dataset_info, b);
  return a_steps && b_steps && *a_steps > *b_steps;
}

bool longer_than_run(const RuleInput& input, const std::string& path) {
  const auto period = period_at(input.root, path);
  const auto run = run_length(input.root);
  return period && run && is_written(input.root, path) && longer(input, *period, *run);
}

std::string length_of_run(const Table& root) {
  return "the run has " + to_string(*run_length(root));
}

bool is_part_of_a_step(const RuleInput& input, const Period& period) {
  const auto steps = in_steps(input.root, input.dataset_info, period);
  return steps && *steps > 0 && *steps < 1;
}

Diagnostic shorter_than_a_step(const RuleInput& input, const char* key, const std::string& what) {
  return clash(
      input.root,
      {key, "batch.sequences", "batch.tokens", "batch.sequence_length", "model.context_length"},
      what + " is shorter than one step",
      "a step takes " + with_thousands(*batch_tokens(input.root)) + " tokens", Severity::warning);
}

// As the default does, which `exprun show` writes out.
bool ends_with_run(const RuleInput& input, const Period& until) {
  const auto whole = run_length(input.root);
  if (!whole) return false;
  const auto until_steps = in_steps(input.root, input.dataset_info, until);
  const auto steps = in_steps(input.root, input.dataset_info, *whole);
  return until_steps && steps ? *until_steps == *steps : to_string(until) == to_string(*whole);
}

// Every key with a cadence that the recipe has.
std::vector<std::string> cadences(const Table& root) {
  std::vector<std::string> paths = {"checkpoint.every", "metrics.every", "metrics.progress_every"};
  for (const std::string& table : evaluation_tables(root))
    paths.push_back(join_path(table, "every"));
  return paths;
}

}  // namespace

void one_size_of_batch(const RuleInput& input, Diagnostics& diagnostics) {
  const bool tokens = find_path(input.root, "batch.tokens") != nullptr;
  const bool sequences = find_path(input.root, "batch.sequences") != nullptr;
  if (tokens && sequences)
    diagnostics.push_back(clash(input.root, {"batch.sequences", "batch.tokens"},
                                "[batch] has both 'tokens' and 'sequences'", "remove one of them"));
  if (!tokens && !sequences && has_table(input.root, "batch"))
    diagnostics.push_back({place_of(input.root, "batch.tokens"),
                           "[batch] needs 'tokens' or 'sequences'",
                           "the size of the global batch"});
}

void tokens_are_whole_sequences(const RuleInput& input, Diagnostics& diagnostics) {
  const auto tokens = positive_at(input.root, "batch.tokens");
  const auto length = sequence_length(input.root);
  if (!tokens || !length || *tokens % *length == 0) return;
  diagnostics.push_back(
      clash(input.root, {"batch.tokens", "batch.sequence_length", "model.context_length"},
            "'tokens' must be a multiple of sequence_length, " + std::to_string(*length),
            near_multiples(*length, *tokens)));
}

void micro_batches_fill_batch(const RuleInput& input, Diagnostics& diagnostics) {
  const auto sequences = batch_sequences(input.root);
  const auto micro = positive_at(input.root, "batch.micro_batch");
  const auto ranks = world_size(input.root);
  if (!sequences || !micro || !ranks) return;
  if (*sequences % *ranks != 0)
    return diagnostics.push_back(
        clash(input.root, {"parallelism.world_size", "batch.sequences", "batch.tokens"},
              "the global batch of " + std::to_string(*sequences) +
                  " sequences cannot be split evenly across " + std::to_string(*ranks) + " ranks",
              near_divisors(*sequences, *ranks)));
  const int64_t share = *sequences / *ranks;
  if (share % *micro == 0) return;
  const std::string whole = *ranks == 1 ? "the global batch of " : "a rank's share of the batch, ";
  diagnostics.push_back(
      clash(input.root,
            {"batch.micro_batch", "batch.sequences", "batch.tokens", "parallelism.world_size"},
            "'micro_batch' must divide " + whole + std::to_string(share) + " sequences",
            near_divisors(share, *micro)));
}

void batch_is_within_an_epoch(const RuleInput& input, Diagnostics& diagnostics) {
  const int64_t epoch = tokens_per_epoch(input.root, input.dataset_info);
  const auto tokens = batch_tokens(input.root);
  if (epoch == 0 || !tokens || *tokens <= epoch) return;
  const bool sequences = integer_at(input.root, "batch.sequences").has_value();
  const std::string key = sequences ? "batch.sequences" : "batch.tokens";
  const int64_t most = sequences ? epoch / *sequence_length(input.root) : epoch;
  diagnostics.push_back(clash(
      input.root, {key, "batch.sequence_length", "model.context_length", "dataset.path"},
      "one step takes " + with_thousands(*tokens) + " tokens, more than the training data has",
      "an epoch is " + with_thousands(epoch) + " tokens: use more data, or " +
          (most > 1 ? key + " = " + std::to_string(most) + " or less"
                    : std::string("a shorter sequence_length")),
      Severity::warning));
}

void sequence_fits_context(const RuleInput& input, Diagnostics& diagnostics) {
  const auto length = integer_at(input.root, "batch.sequence_length");
  const auto context = integer_at(input.root, "model.context_length");
  if (!length || !context || *length <= *context) return;
  diagnostics.push_back(clash(
      input.root, {"batch.sequence_length", "model.context_length"},
      "'sequence_length' must be <= the model's context_length, " + std::to_string(*context)));
}

void one_length_of_run(const RuleInput& input, Diagnostics& diagnostics) {
  const bool steps = find_path(input.root, "run.steps") != nullptr;
  const bool length = find_path(input.root, "run.length") != nullptr;
  if (steps && length)
    diagnostics.push_back(clash(input.root, {"run.length", "run.steps"},
                                "[run] has both 'steps' and 'length'", "remove one of them"));
  if (!steps && !length && has_table(input.root, "run"))
    diagnostics.push_back({place_of(input.root, "run.steps"), "[run] needs 'steps' or 'length'",
                           "how long the run is"});
}

void run_has_a_whole_step(const RuleInput& input, Diagnostics& diagnostics) {
  const auto length = run_length(input.root);
  if (length && is_part_of_a_step(input, *length))
    diagnostics.push_back(shorter_than_a_step(input, "run.length", "the run"));
}

void warmup_has_a_whole_step(const RuleInput& input, Diagnostics& diagnostics) {
  const auto warmup = period_at(input.root, "schedule.warmup");
  if (warmup && is_part_of_a_step(input, *warmup))
    diagnostics.push_back(shorter_than_a_step(input, "schedule.warmup", "'warmup'"));
}

// A first try of a few steps is such a run.
void warmup_fits_run(const RuleInput& input, Diagnostics& diagnostics) {
  if (!longer_than_run(input, "schedule.warmup")) return;
  Period tenth = *run_length(input.root);
  tenth.count /= 10;
  if (tenth.unit != PeriodUnit::epochs) tenth.count = std::max(1.0, std::floor(tenth.count));
  diagnostics.push_back(clash(
      input.root, {"schedule.warmup", "run.steps", "run.length"},
      "'warmup' is longer than the run, so the learning rate does not reach its peak",
      length_of_run(input.root) + "; warmup=\"" + to_string(tenth) + "\" fits", Severity::warning));
}

void decay_fits_run(const RuleInput& input, Diagnostics& diagnostics) {
  if (longer_than_run(input, "schedule.decay_until"))
    diagnostics.push_back(clash(input.root, {"schedule.decay_until", "run.steps", "run.length"},
                                "'decay_until' is after the end of the run",
                                length_of_run(input.root)));
}

void decay_follows_warmup(const RuleInput& input, Diagnostics& diagnostics) {
  const auto warmup = period_at(input.root, "schedule.warmup");
  const auto until = period_at(input.root, "schedule.decay_until");
  const auto length = period_at(input.root, "schedule.decay_length");
  if (!warmup || !until) return;
  // Where it ends with the run, it is the run that is too short.
  if (!ends_with_run(input, *until) && is_written(input.root, "schedule.decay_until") &&
      longer(input, *warmup, *until))
    diagnostics.push_back(clash(input.root, {"schedule.decay_until", "schedule.warmup"},
                                "'decay_until' is within the warmup",
                                "the warmup takes " + to_string(*warmup)));
  const auto warmup_steps = in_steps(input.root, input.dataset_info, *warmup);
  const auto until_steps = in_steps(input.root, input.dataset_info, *until);
  const auto length_steps =
      length ? in_steps(input.root, input.dataset_info, *length) : std::nullopt;
  if (!warmup_steps || !until_steps || !length_steps) return;
  if (*warmup_steps > *until_steps || *warmup_steps + *length_steps <= *until_steps) return;
  if (!is_written(input.root, "schedule.decay_length")) {
    diagnostics.push_back(
        clash(input.root, {"schedule.warmup", "schedule.decay_until", "run.steps", "run.length"},
              "the warmup of " + to_string(*warmup) + " reaches into the decay, the last " +
                  to_string(*length) + " of " + to_string(*until),
              *warmup_steps < *until_steps ? "write a shorter warmup, or set 'decay_length'"
                                           : "write a shorter warmup"));
    return;
  }
  const bool is_too_long = *length_steps > *until_steps;
  diagnostics.push_back(
      clash(input.root, {"schedule.decay_length", "schedule.warmup", "schedule.decay_until"},
            "'decay_length' of " + to_string(*length) +
                (is_too_long ? " is too long" : " reaches into the warmup"),
            (is_too_long ? "" : "the warmup takes " + to_string(*warmup) + ", and ") +
                "the decay ends after " + to_string(*until)));
}

// A rate that decays to zero stays there.
void decayed_rate_trains(const RuleInput& input, Diagnostics& diagnostics) {
  const std::string type = text_at(input.root, "schedule.type").value_or("");
  const Value* const factor = valid_at(input.root, "schedule.min_lr_factor");
  const auto* const least = factor ? factor->as<double>() : nullptr;
  if ((type != "linear" && type != "cosine" && type != "wsd") || !least || *least > 0) return;
  const Value* const decay = valid_at(input.root, "run.ema");
  const auto* const ema = decay ? decay->as<double>() : nullptr;
  if (ema && *ema > 0) return;  // the average goes on towards the weights
  const auto until = period_at(input.root, "schedule.decay_until");
  const auto decayed = until ? in_steps(input.root, input.dataset_info, *until) : std::nullopt;
  const auto steps = run_steps(input.root, input.dataset_info);
  if (!decayed || !steps || *decayed + 1 > static_cast<double>(*steps)) return;
  const int64_t idle = *steps - static_cast<int64_t>(std::ceil(*decayed));
  diagnostics.push_back(
      clash(input.root, {"schedule.decay_until", "run.steps", "run.length"},
            "the learning rate is 0 after 'decay_until', so the last " +
                (idle == 1 ? "step changes" : pluralize(idle, "step") + " change") + " nothing",
            "write min_lr_factor = 0.1, or let the decay end with the run", Severity::warning));
}

void schedule_has_an_end_of_decay(const RuleInput& input, Diagnostics& diagnostics) {
  const std::string path = "schedule.decay_until";
  const Schema* schema = schema_at(input.schemas, input.root, path);
  if (!schema || !schema->value("x-no-effect", false) || !is_written(input.root, path)) return;
  if (is_invalid(input.root, "schedule.type")) return;
  const auto until = period_at(input.root, path);
  if (until && ends_with_run(input, *until)) return;
  diagnostics.push_back(clash(input.root, {path, "schedule.type"},
                              "'decay_until' has no effect on schedule \"" +
                                  text_at(input.root, "schedule.type").value_or("") + "\"",
                              "only \"linear\", \"cosine\" and \"wsd\" use it", Severity::warning));
}

void epochs_have_meaning(const RuleInput& input, Diagnostics& diagnostics) {
  if (text_at(input.root, "dataset.order") != "random_offsets") return;
  std::vector<std::string> paths = cadences(input.root);
  paths.insert(paths.end(),
               {"run.length", "schedule.warmup", "schedule.decay_until", "schedule.decay_length"});
  for (const std::string& path : paths) {
    const auto period = period_at(input.root, path);
    if (!period || period->unit != PeriodUnit::epochs || !is_written(input.root, path)) continue;
    diagnostics.push_back(
        clash(input.root, {path, "dataset.order"}, "'" + path + "' cannot be in epochs",
              "dataset.order = \"random_offsets\" has no epochs: use steps or tokens"));
  }
}

void periods_fit_run(const RuleInput& input, Diagnostics& diagnostics) {
  for (const std::string& path : cadences(input.root)) {
    if (!longer_than_run(input, path)) continue;
    diagnostics.push_back(clash(input.root, {path, "run.steps", "run.length"},
                                "'" + path + "' is longer than the run",
                                length_of_run(input.root)));
    diagnostics.back().severity = Severity::warning;
  }
}

// Of n values none lies more than (n - 1) / sqrt(n) standard deviations above their mean.
void outliers_are_possible(const RuleInput& input, Diagnostics& diagnostics) {
  const Value* score = valid_at(input.root, "run.divergence.z_score");
  const auto window = positive_at(input.root, "run.divergence.window");
  const auto* z = score == nullptr ? nullptr : score->as<double>();
  if (z == nullptr || !window) return;
  const auto count = static_cast<double>(*window);
  const double most = (count - 1) / std::sqrt(count);
  if (*z < most) return;
  std::vector<std::string> keys{"run.divergence.z_score", "run.divergence.window"};
  if (!is_written(input.root, keys[0])) std::swap(keys[0], keys[1]);
  keys.emplace_back("run.on_divergence");
  diagnostics.push_back(
      clash(input.root, keys,
            "no value can be " + shortest(*z) + " standard deviations above the mean of " +
                pluralize(*window, "step"),
            "'z_score' must be below " + fixed(most, 2) + ", or 'window' must be longer"));
}

void outliers_come_within_run(const RuleInput& input, Diagnostics& diagnostics) {
  const std::string score = "run.divergence.z_score", window = "run.divergence.window";
  const Value* const value = valid_at(input.root, score);
  const auto* z = value == nullptr ? nullptr : value->as<double>();
  const auto first = positive_at(input.root, window);
  const auto length = run_length(input.root);
  const auto steps = length ? in_steps(input.root, input.dataset_info, *length) : std::nullopt;
  if (z == nullptr || *z == 0 || !is_written(input.root, score)) return;
  if (!first || !steps || static_cast<double>(*first) < *steps) return;
  diagnostics.push_back(clash(
      input.root, {score, window, "run.steps", "run.length"},
      "'z_score' has no effect: the first " + pluralize(*first, "step") + " cannot be outliers",
      length_of_run(input.root) + "; set run.divergence.window to less", Severity::warning));
}

void rollback_is_possible(const RuleInput& input, Diagnostics& diagnostics) {
  const auto every = period_at(input.root, "checkpoint.every");
  if (text_at(input.root, "run.on_divergence") != "rollback") return;
  const Value* const single = valid_at(input.root, "run.overfit_single_batch");
  if (const bool* const is_on = single ? single->as<bool>() : nullptr; is_on && *is_on)
    diagnostics.push_back(
        clash(input.root, {"run.on_divergence", "run.overfit_single_batch"},
              "on_divergence = \"rollback\" goes on with other data, but overfit_single_batch has "
              "one batch",
              "write \"stop\" or \"skip\""));
  if (!every || every->unit != PeriodUnit::seconds) return;
  diagnostics.push_back(
      clash(input.root, {"checkpoint.every", "run.on_divergence"},
            "with on_divergence = \"rollback\", 'every' must not be a time",
            "the run goes back to its last checkpoint, which must not depend on how fast it is: "
            "write \"500 steps\""));
}

}  // namespace exprun
