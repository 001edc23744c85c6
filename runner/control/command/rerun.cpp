// exprun rerun RUN [key=value...]
#include "base/diagnostic.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/command/line/override_completions.h"
#include "control/command/line/recipe_words.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/launch/prepared_launch.h"
#include "control/launch/ranks/distributed_command.h"
#include "control/launch/ranks/restart_detection.h"
#include "control/launch/run/recipe_difference.h"
#include "control/launch/run/repeated_run.h"
#include "control/launch/weights/checkpoint_choice.h"
#include "control/launch/weights/initial_weights.h"
#include "control/report/compare/run_differences.h"

namespace exprun {
namespace {

void say(const std::string& title, const std::vector<std::string>& lines) {
  std::string text = title;
  for (const std::string& line : lines) text += "\n  " + line;
  log_info(text);
}

void say_differences(const Store& store, const RunRow& before, const RunRow& now) {
  std::vector<std::string> lines;
  const Circumstances circumstances = compared_circumstances(store, {before, now});
  for (const auto& [name, values] : circumstances.different)
    lines.push_back(name + ": " + values[0].value_or("none") + " -> " + values[1].value_or("none"));
  for (const auto& [path, was, is] :
       changed_parameters(store.parameters(before.id), store.parameters(now.id)))
    lines.push_back(path + ": " + set_or_not(was) + " -> " + set_or_not(is));
  say(lines.empty() ? circumstances.compared + " are those of " + before.folder
                    : "different from " + before.folder + ":",
      lines);
  say("results compared with " + before.folder + ":", result_differences(store, before, now));
}

// What a fork began with, for another that begins with it.
struct HeldOrigin {
  ForkOrigin fork;
  FileLock reading;
};

HeldOrigin held_origin(const Store& store, const StoreFolder& folder, const RunRow& run,
                       const RunOrigin& origin) {
  if (const std::string why = why_not_repeated(folder, run); !why.empty())
    throw Error("rerun: " + run.folder + ' ' + why);
  const auto forked = run_with(store, &RunRow::uid, origin.uid);
  HeldCheckpoint checkpoint = chosen_checkpoint(
      folder, forked->folder, {CheckpointChoice::Kind::step, origin.step}, {"rerun"});
  return {{*forked, folder.run(forked->folder),
           resolve_stored(stored_recipe(store, *forked), "rerun", forked->folder),
           checkpoint.folder, origin.fresh_optimizer},
          std::move(checkpoint.reading)};
}

Performed rerun(const std::string& reference, const Words& overrides,
                const std::optional<LocalRanks>& ranks, const Globals& globals) {
  Store store = open_store_to_change(globals.store);
  const RunRow before = find_run(store, globals.store, reference);
  if (!ranks) require_ranks_for_one_machine(store, before, "rerun", overrides);
  RecipeText text = understood_recipe(store, before, overrides, "rerun", reference);
  const WorkingDirectory there(before);
  const auto origin = origin_of(before);
  text = with_world_size_of(ranks, std::move(text));
  HeldRecipe recipe = origin ? HeldRecipe{std::move(text), {}}
                             : with_checkpoint_of_run(std::move(text), globals.store, true);
  LaunchRequest request = request_for(std::move(recipe.text), globals);
  request.ranks = ranks;
  request.repeated = before;
  request.held_weights = &recipe.weights;
  if (origin) {
    refuse_other_weights("rerun", resolve_stored(stored_recipe(store, before), "rerun", reference),
                         request.resolved);
    HeldOrigin held = held_origin(store, globals.store, before, *origin);
    request.origin = std::move(held.fork);
    recipe.weights = std::move(held.reading);
    log_info("forking " + describe_origin(to_json(*request.origin)));
  }
  const Launch launched = launch_detecting_restart(store, globals.store, request, true);
  if (!launched.exit_code) return {ended_already(launched, "rerun"), false};
  if (launched.run.id == before.id) return performed(launched);  // @last, started anew
  store.record_event({launched.run.id, 0, "info", "rerun", "of " + before.folder});
  say_differences(store, before, launched.run);
  return performed(launched);
}

}  // namespace

int run_rerun(const Words& words, const Globals& globals) {
  std::string reference;
  Words overrides;
  Arguments arguments("rerun RUN [key=value...]",
                      "Runs the stored recipe of a run again, as a new run in the same working "
                      "directory, then reports the results and what differed. A fork begins with "
                      "the same checkpoint of its origin again.");
  arguments.run_word(reference)
      .words("key=value...", overrides, "overrides of the recipe's keys", offer::changes)
      .note(kHowANewRunContinues)
      .exit_codes(kTrains)
      .example("exprun rerun @last", "check that the results are the same")
      .example("exprun rerun @last seed=2", "the same with a different seed");
  if (!arguments.parse(words)) return 0;
  require_overrides(overrides, "rerun");
  return perform_among_ranks(globals.level, [&](const auto& ranks) {
    return rerun(reference, overrides, ranks, globals);
  });
}

}  // namespace exprun
