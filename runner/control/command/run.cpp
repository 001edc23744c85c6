// exprun RECIPE [key=value...]
#include "base/diagnostic.h"
#include "control/command/arguments.h"
#include "control/command/recipe_words.h"
#include "control/command/stored_runs.h"
#include "control/launch/joining.h"
#include "control/launch/observed_runs.h"
#include "control/launch/prepare.h"
#include "control/report/run_result.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

[[noreturn]] void refuse_running(const RunRow& run) {
  throw Error("launch: " + run.folder + " is this recipe's run, and it " + is_running(run) +
              "; --new starts another");
}

const char* what_happened(RunState state) {
  if (state == RunState::failed) return "it failed";
  return state == RunState::diverged ? "it diverged" : "it was pruned";
}

[[noreturn]] void refuse_ended(const RunRow& run) {
  throw Error("launch: " + run.folder + " is this recipe's run, and " + what_happened(run.state) +
              " at step " + std::to_string(run.last_step) +
              (run.message.empty() ? "" : ": " + run.message) + "\n  exprun resume " + run.folder +
              "   continues it from its newest checkpoint\n  --new   starts another run");
}

int answer(const Store& store, const StoreFolder& folder, const Launch& launched) {
  switch (launched.decision) {
    case Decision::refuse_running:
      refuse_running(launched.run);
    case Decision::refuse_ended:
      refuse_ended(launched.run);
    case Decision::show_result:
      print(run_result(reported_run(store, launched.run),
                       (folder.shown / launched.run.folder).string()));
      log_info("nothing to do: this recipe has been run; --new runs it again");
      return 0;
    case Decision::start_new:
    case Decision::continue_run:
      break;
  }
  return *launched.exit_code;
}

// Ranks that their launcher has started anew go on with a run that failed with one of them.
Launch launch_here(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                   bool always_new) {
  const bool restarted = request.joined && request.joined->restarts > 0;
  std::optional<Launch> launched;
  await_former_life(request.joined, [&] {
    launched = launch(store, folder, request, always_new && !restarted);
    return launched->decision != Decision::refuse_running;
  });
  if (restarted && launched->decision == Decision::refuse_ended &&
      launched->run.state == RunState::failed)
    return launch_again(store, folder, request, launched->run);
  return *launched;
}

Performed run_here(RecipeText text, bool always_new, const std::optional<JoinedRank>& joined,
                   const Globals& globals) {
  LaunchRequest request = request_for(std::move(text), globals);
  request.joined = joined;
  // A first run that cannot begin leaves nothing behind, not even an empty store.
  std::error_code ignored;
  if (!std::filesystem::exists(globals.store.database(), ignored))
    require_data(request, globals.store);
  Store store = open_store_to_write(globals.store);
  const Launch launched = launch_here(store, globals.store, request, always_new);
  return {answer(store, globals.store, launched), launched.exit_code.has_value()};
}

// For ranks above 0, who get the recipe from rank 0: it need not be on their machine, but one that
// is there must be the same.
std::optional<std::string> hash_here(const std::string& recipe, const Words& overrides,
                                     const std::optional<JoinedRank>& joined) {
  std::error_code ignored;
  if (!std::filesystem::exists(recipe, ignored)) return std::nullopt;
  try {
    return resolve(with_world_size_of(joined, read_recipe(recipe, overrides))).hash();
  } catch (const RecipeError&) {
    return "one with mistakes";  // where rank 0 finds them too, it says so
  }
}

}  // namespace

int run_recipe(const Words& words, const Globals& globals) {
  std::string recipe;
  Words overrides;
  bool always_new = false;
  Arguments arguments("RECIPE [key=value...] [--new]",
                      "Runs a recipe. The same line again continues a run that was interrupted, "
                      "and shows the result of one that is finished.");
  arguments.word("RECIPE", recipe, "a TOML file")
      .words("key=value...", overrides,
             "changes of the recipe: lr=3e-4 checkpoint.every=\"5 steps\"")
      .flag("--new", always_new, "start another run, whatever there is")
      .note(
          "Ctrl-C and SIGTERM save and end; a second one ends at once. A changed recipe is "
          "another run, and the changes are shown.")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe, ExitCode::diverged,
                   ExitCode::store_error, ExitCode::preempted, ExitCode::interrupted_int,
                   ExitCode::interrupted_term})
      .example("exprun recipes/quickstart.toml lr=3e-4", "with another learning rate")
      .example("exprun recipes/quickstart.toml ~warmup --new", "without its warm-up, once more");
  if (!arguments.parse(words)) return 0;
  require_overrides(overrides, "command line");
  const auto hash = [&](const auto& joined) { return hash_here(recipe, overrides, joined); };
  return perform_among_ranks(globals.level, hash, [&](const auto& joined) {
    RecipeText text = with_world_size_of(joined, read_recipe(recipe, overrides));
    return run_here(std::move(text), always_new, joined, globals);
  });
}

}  // namespace exprun
