// exprun rerun RUN [key=value...]
#include <algorithm>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
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
#include "control/launch/run/present_folder.h"
#include "control/launch/weights/checkpoint_choice.h"
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
  for (const auto& different :
       {different_circumstances(store, {before, now}), different_parameters(store, {before, now})})
    for (const auto& [name, values] : different)
      lines.push_back(name + ": " + values[0].value_or("none") + " -> " +
                      values[1].value_or("none"));
  say(lines.empty() ? "code, machine, libraries, data and environment are those of " + before.folder
                    : "different from " + before.folder + ":",
      lines);
  say("results compared with " + before.folder + ":", result_differences(store, before, now));
}

// What a fork began with, for another that begins with it.
struct HeldOrigin {
  ForkOrigin fork;
  FileLock reading;
};

bool has_checkpoint(const RunFolder& run, int64_t step) {
  const auto complete = complete_checkpoints(run);
  return std::ranges::find(complete, step, &CheckpointFolder::step) != complete.end();
}

// `forked`: the origin's row, if there is one.
[[noreturn]] void refuse_without_origin(const RunRow& run, const RunOrigin& origin,
                                        const std::optional<RunRow>& forked, const std::string& why,
                                        const StoreFolder& folder) {
  std::string said =
      "rerun: " + run.folder + " is a fork of " + describe_origin(run.origin) + ", " + why;
  if (has_checkpoint(folder.run(run.folder), origin.step))
    said += "; `exprun fork " + shell_quoted(run.folder) + " --step " +
            std::to_string(origin.step) + (origin.fresh_optimizer ? " --fresh-optimizer" : "") +
            store_option(folder) + "` begins with its own copy";
  else if (forked && !forked->removed_ms &&
           !complete_checkpoints(folder.run(forked->folder)).empty())
    said += ", so it cannot be repeated; `exprun fork " + folder.words_for(forked->folder) +
            "` with key=value... begins with the newest checkpoint there";
  else
    said += ", so it cannot be repeated";
  throw Error(said);
}

// A removed one too, until it is deleted.
std::optional<RunRow> run_with_uid(const Store& store, const std::string& uid) {
  for (const auto& runs : {store.runs(), store.removed_runs()})
    if (const auto found = std::ranges::find(runs, uid, &RunRow::uid); found != runs.end())
      return *found;
  return std::nullopt;
}

HeldOrigin held_origin(const Store& store, const StoreFolder& folder, const RunRow& run,
                       const RunOrigin& origin) {
  const auto forked = run_with_uid(store, origin.uid);
  if (!forked || !has_folder(folder, forked->folder))
    refuse_without_origin(run, origin, forked, "which is not in this store any more", folder);
  const RunFolder there = folder.run(forked->folder);
  if (!has_checkpoint(there, origin.step))
    refuse_without_origin(run, origin, forked, "whose checkpoint of that step is gone", folder);
  HeldCheckpoint checkpoint = chosen_checkpoint(
      folder, forked->folder, {CheckpointChoice::Kind::step, origin.step}, "rerun");
  return {{*forked, there, resolve_stored(stored_recipe(store, *forked), "rerun", forked->folder),
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
  LaunchRequest request = request_for(with_world_size_of(ranks, std::move(text)), globals);
  request.ranks = ranks;
  request.repeated = before;
  std::optional<FileLock> reading;
  if (const auto origin = origin_of(before)) {
    HeldOrigin held = held_origin(store, globals.store, before, *origin);
    request.origin = std::move(held.fork);
    reading = std::move(held.reading);
    request.held_weights = &reading;
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
