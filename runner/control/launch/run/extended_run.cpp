#include "control/launch/run/extended_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/format_units.h"
#include "base/strings.h"
#include "control/launch/trainer_program.h"
#include "recipe/quantities.h"
#include "text/prepared_data.h"

namespace exprun {
namespace {

constexpr std::string_view kEarlyStop = "run.early_stop.";
constexpr std::string_view kPatience = "run.early_stop.patience";

std::string command_with(const std::string& command, const RunRow& run,
                         const std::vector<std::string>& words, const StoreFolder& folder) {
  return "`exprun " + command + ' ' + folder.words_for(run.folder, words) + '`';
}

// Without `decay_until`, the rates of other schedules depend on the length of the run from the
// start or near its end.
constexpr std::string_view kIndependentOfLength[] = {"constant", "cosine_annealing",
                                                     "inverse_sqrt"};

// And then trains on at a rate that is not 0.
bool keeps_its_past(const ResolvedRecipe& recipe) {
  const Section schedule = recipe.section("schedule");
  const Value* const until = valid_at(recipe.root(), "schedule.decay_until");
  if (std::ranges::find(kIndependentOfLength, schedule.type()) != std::end(kIndependentOfLength))
    return true;
  return until && until->origin != Origin::derived && schedule.has("min_lr_factor") &&
         schedule.get<double>("min_lr_factor") > 0;
}

std::string twice_the_length(const ResolvedRecipe& recipe) {
  if (const auto steps = integer_at(recipe.root(), "run.steps"))
    return "run.steps=" + std::to_string(2 * *steps);
  Period length = *run_length(recipe.root());
  length.count *= 2;
  return "run.length=" + to_string(length);
}

int64_t completed_steps(const RunFolder& folder) {
  const auto checkpoints = complete_checkpoints(folder);
  return checkpoints.empty() ? 0 : checkpoints.front().step;
}

}  // namespace

bool is_extension(const ResolvedRecipe& before, const ResolvedRecipe& now) {
  const auto all = differences(before, now);
  const bool waits = waits_longer(before, now);
  return !all.empty() && std::all_of(all.begin(), all.end(), [&](const Difference& difference) {
    const std::string& path = difference.path;
    const bool is_of_waiting =
        path == kPatience || (path.starts_with(kEarlyStop) && difference.b.empty());
    return path == "run.steps" || path == "run.length" || path == "schedule.decay_until" ||
           (waits && is_of_waiting);
  });
}

bool waits_longer(const ResolvedRecipe& before, const ResolvedRecipe& now) {
  const auto was = integer_at(before.root(), kPatience), is = integer_at(now.root(), kPatience);
  return was && (!is || *is > *was);
}

std::string more_patience(const ResolvedRecipe& recipe) {
  return std::string(kPatience) + "=" + std::to_string(2 * *integer_at(recipe.root(), kPatience));
}

void require_no_trial(const Store& store, const StoreFolder& folder, const RunRow& run,
                      const std::vector<std::string>& words) {
  const std::vector<int64_t> sweeps = store.sweeps_with_run(run.id);
  if (sweeps.empty()) return;
  throw Error("resume: " + run.folder + (run.sweep_id ? " is" : " is also") + " a trial of sweep " +
                  std::to_string(sweeps.front()) + ", which compares it as it is\n  " +
                  command_with("fork", run, words, folder) + " starts a new run from here",
              ExitCode::bad_recipe);
}

void require_same_past(const StoreFolder& folder, const RunRow& run, const RecipeText& before,
                       const RecipeText& now, const std::vector<std::string>& words) {
  const RunFolder run_folder = folder.run(run.folder);
  const int64_t completed = completed_steps(run_folder);
  const auto rates =
      compare_rates(now, before, completed, facts_of(PreparedData::load(run_folder.data())));
  const auto steps = rates.at("steps").get<int64_t>();
  if (steps <= completed)
    throw Error(
        "resume: " + run.folder + " has completed " + pluralize(completed, "step") +
            " already, and " + with_thousands(steps) +
            " are asked for; ask for more, such as run.steps=" + std::to_string(2 * completed),
        ExitCode::bad_recipe);
  if (rates.at("k").is_null()) return;
  const int64_t step = rates.at("k").get<int64_t>() + 1;
  const int64_t until = rates.at("steps_before").get<int64_t>();
  std::vector<std::string> kept = words;
  kept.push_back("schedule.decay_until=\"" + pluralize(until, "step") + "\"");
  const bool is_shorter = steps < until, ends_at_0 = rates.at("end_before").get<double>() == 0;
  const std::string resumed = command_with("resume", run, kept, folder) +
                              " keeps the rates so far and trains on at the last one; ";
  throw Error("resume: " + run.folder + " cannot be " + (is_shorter ? "shortened" : "extended") +
                  " to " + pluralize(steps, "step") +
                  ": its schedule depends on its length; from step " + with_thousands(step) +
                  " on, its learning rates would have been different\n  " +
                  (is_shorter  ? ""
                   : ends_at_0 ? "after its last step, its learning rate is 0; "
                               : resumed) +
                  command_with("fork", run, words, folder) +
                  " starts a new run from here with the new schedule",
              ExitCode::bad_recipe);
}

std::string offer_of_twice_the_length(const Store& store, const RunRow& run,
                                      const ResolvedRecipe& recipe, const std::string& option) {
  const bool resumes = keeps_its_past(recipe) && store.sweeps_with_run(run.id).empty();
  return std::string("exprun ") + (resumes ? "resume " : "fork ") + shell_quoted(run.folder) + ' ' +
         shell_quoted(twice_the_length(recipe)) + option +
         (resumes ? "   trains it twice as long" : "   continues from here as a new run");
}

}  // namespace exprun
