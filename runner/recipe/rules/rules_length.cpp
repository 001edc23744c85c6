#include "recipe/key_path.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"

namespace exprun {
namespace {

// a > b, as far as their units can be compared.
bool longer(const RuleInput& input, const Period& a, const Period& b) {
  if (a.unit == b.unit) return a.count > b.count;
  const auto a_steps = in_steps(input.root, input.facts, a);
  const auto b_steps = in_steps(input.root, input.facts, b);
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

// Every key with a cadence that the recipe has.
std::vector<std::string> cadences(const Table& root) {
  std::vector<std::string> paths = {"checkpoint.every", "metrics.every", "metrics.progress_every"};
  const Value* evaluation = root.find("evaluation");
  if (const Table* table = evaluation == nullptr ? nullptr : evaluation->as<Table>())
    for (const std::string& name : table->keys())
      paths.push_back(join_path(join_path("evaluation", name), "every"));
  return paths;
}

}  // namespace

void one_length_of_run(const RuleInput& input, Diagnostics& diagnostics) {
  const bool steps = find_path(input.root, "run.steps") != nullptr;
  const bool length = find_path(input.root, "run.length") != nullptr;
  if (steps && length)
    diagnostics.push_back(clash(input.root, {"run.length", "run.steps"},
                                "[run] has both 'steps' and 'length'", "take one of them away"));
  if (!steps && !length && has_table(input.root, "run"))
    diagnostics.push_back({place_of(input.root, "run.steps"), "[run] needs 'steps' or 'length'",
                           "how long the run is"});
}

void run_has_a_whole_step(const RuleInput& input, Diagnostics& diagnostics) {
  const auto length = run_length(input.root);
  const auto steps = length ? in_steps(input.root, input.facts, *length) : std::nullopt;
  if (!steps || *steps >= 1 || *steps <= 0) return;
  diagnostics.push_back({place_of(input.root, "run.length"),
                         "the run is shorter than one step",
                         "a step takes " + std::to_string(*batch_tokens(input.root)) + " tokens",
                         {},
                         Severity::warning});
}

void warmup_fits_run(const RuleInput& input, Diagnostics& diagnostics) {
  if (longer_than_run(input, "schedule.warmup"))
    diagnostics.push_back(
        tolerable(clash(input.root, {"schedule.warmup", "run.steps", "run.length"},
                        "'warmup' is longer than the run", length_of_run(input.root))));
}

void decay_fits_run(const RuleInput& input, Diagnostics& diagnostics) {
  if (longer_than_run(input, "schedule.decay_until"))
    diagnostics.push_back(
        tolerable(clash(input.root, {"schedule.decay_until", "run.steps", "run.length"},
                        "'decay_until' is behind the end of the run", length_of_run(input.root))));
}

void decay_follows_warmup(const RuleInput& input, Diagnostics& diagnostics) {
  const auto warmup = period_at(input.root, "schedule.warmup");
  const auto until = period_at(input.root, "schedule.decay_until");
  const auto length = period_at(input.root, "schedule.decay_length");
  if (!warmup || !until) return;
  if (is_written(input.root, "schedule.decay_until") && longer(input, *warmup, *until))
    diagnostics.push_back(
        tolerable({place_of(input.root, "schedule.decay_until"),
                   "'decay_until' is within the warm-up", "which takes " + to_string(*warmup)}));
  const auto warmup_steps = in_steps(input.root, input.facts, *warmup);
  const auto until_steps = in_steps(input.root, input.facts, *until);
  const auto length_steps = length ? in_steps(input.root, input.facts, *length) : std::nullopt;
  if (!warmup_steps || !until_steps || !length_steps) return;
  if (*warmup_steps <= *until_steps && *warmup_steps + *length_steps > *until_steps)
    diagnostics.push_back(
        tolerable({place_of(input.root, "schedule.decay_length"),
                   "'decay_length' of " + to_string(*length) + " begins within the warm-up",
                   "the decay ends after " + to_string(*until)}));
}

void constant_rate_has_no_decay(const RuleInput& input, Diagnostics& diagnostics) {
  if (text_at(input.root, "schedule.type") != "constant") return;
  if (!is_written(input.root, "schedule.decay_until")) return;
  diagnostics.push_back({place_of(input.root, "schedule.decay_until"),
                         "'decay_until' has no effect: a constant rate does not decay",
                         "\"linear\", \"cosine\" and \"wsd\" do",
                         {},
                         Severity::warning});
}

void epochs_have_meaning(const RuleInput& input, Diagnostics& diagnostics) {
  if (text_at(input.root, "dataset.order") != "random_offsets") return;
  std::vector<std::string> paths = cadences(input.root);
  paths.insert(paths.end(),
               {"run.length", "schedule.warmup", "schedule.decay_until", "schedule.decay_length"});
  for (const std::string& path : paths) {
    const auto period = period_at(input.root, path);
    if (!period || period->unit != PeriodUnit::epochs || !is_written(input.root, path)) continue;
    diagnostics.push_back({place_of(input.root, path),
                           "'" + last_part(path) + "' cannot count epochs",
                           "dataset.order = \"random_offsets\" has none: use steps or tokens"});
  }
}

void periods_fit_run(const RuleInput& input, Diagnostics& diagnostics) {
  for (const std::string& path : cadences(input.root)) {
    if (!longer_than_run(input, path)) continue;
    diagnostics.push_back(clash(input.root, {path, "run.steps", "run.length"},
                                "'" + last_part(path) + "' is longer than the run",
                                length_of_run(input.root)));
    diagnostics.back().severity = Severity::warning;
  }
}

}  // namespace exprun
