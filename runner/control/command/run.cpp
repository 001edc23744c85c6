// exprun RECIPE [key=value...]
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/diagnostic.h"
#include "base/error_file.h"
#include "control/command/arguments.h"
#include "control/command/recipe_words.h"
#include "control/command/stored_runs.h"
#include "control/launch/observed_runs.h"
#include "control/launch/prepare.h"
#include "control/launch/ranks.h"
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

// The launcher of the ranks decides how many there are.
Words with_world_size(Words overrides, int world_size) {
  std::erase_if(overrides, [](const std::string& word) {
    const std::string key = word.substr(0, word.find('='));
    return key == "world_size" || key == "parallelism.world_size";
  });
  overrides.push_back("parallelism.world_size=" + std::to_string(world_size));
  return overrides;
}

// Ranks that their launcher has started anew go on with a run that failed with one of them; what
// is left of their former life may still be saving.
Launch launch_restarted(Store& store, const StoreFolder& folder, const LaunchRequest& request) {
  constexpr std::chrono::seconds kPatience{30};
  const auto late = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    Launch launched = launch(store, folder, request, /*always_new=*/false);
    if (launched.decision == Decision::refuse_ended && launched.run.state == RunState::failed)
      return launch_again(store, folder, request, launched.run);
    if (launched.decision != Decision::refuse_running || std::chrono::steady_clock::now() > late)
      return launched;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

int run_here(const std::string& recipe, const Words& overrides, bool always_new,
             const std::optional<JoinedRank>& joined, const Globals& globals) {
  LaunchRequest request = request_for(read_recipe(recipe, overrides), globals);
  request.joined = joined;
  // A first run that cannot begin leaves nothing behind, not even an empty store.
  std::error_code ignored;
  if (!std::filesystem::exists(globals.store.database(), ignored))
    require_data(request, globals.store);
  Store store = open_store_to_write(globals.store);
  const bool restarted = joined && joined->restarts > 0;
  const Launch launched = restarted ? launch_restarted(store, globals.store, request)
                                    : launch(store, globals.store, request, always_new);
  const int code = answer(store, globals.store, launched);
  if (joined && !launched.exit_code) dismiss_others(*joined, code);
  return code;
}

int run_as_rank_0(const std::string& recipe, const Words& overrides, bool always_new,
                  const JoinedRank& joined, const Globals& globals) {
  try {
    return run_here(recipe, with_world_size(overrides, joined.world_size), always_new, joined,
                    globals);
  } catch (const RecipeError& error) {
    write_error_file(error.what());
    dismiss_others(joined, static_cast<int>(ExitCode::bad_recipe));
    throw;
  } catch (const Error& error) {
    write_error_file(error.what());
    dismiss_others(joined, static_cast<int>(error.code()));
    throw;
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
  const auto joined = joined_rank([](const char* name) { return std::getenv(name); });
  if (!joined) return run_here(recipe, overrides, always_new, std::nullopt, globals);
  if (joined->rank > 0) follow(*joined, globals.level);
  return run_as_rank_0(recipe, overrides, always_new, *joined, globals);
}

}  // namespace exprun
