#include "control/launch/run/continued_run.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "base/diagnostic.h"
#include "control/launch/run/observed_run.h"
#include "control/launch/run/run_lock.h"
#include "support/temporary_folder.h"
#include "tests/unit/recipe/recipes.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

RecipeText recipe() {
  return recipe_text(kTinyRecipe, {"steps=10"}, "tiny.toml");
}

NewRun new_run() {
  NewRun run;
  run.uid = std::string(32, 'a');
  run.name = "tiny";
  run.recipe_hash = "hash";
  run.folder = "tiny-aaaaaaaa";
  run.steps = 10;
  return run;
}

std::string refusal(Store& store, const StoreFolder& folder, const RunRow& run) {
  const LaunchRequest request{recipe(),       resolve(recipe()), "exprun tiny.toml",
                              LogLevel::info, std::nullopt,      std::nullopt};
  const PreparedLaunch prepared{{}, resolve(recipe()), 10, std::nullopt, {}};
  try {
    continue_run(store, folder, request, prepared, run);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("continued run: one that another process has continued meanwhile is left alone") {
  const TemporaryFolder temporary;
  const StoreFolder folder{temporary.path(), "runs"};
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run());
  fs::create_directory(folder.run("tiny-aaaaaaaa").path);
  store.end_attempt(id, RunState::interrupted, 130, {}, "");
  const RunRow stale = *store.run(id);
  store.begin_attempt(id, 0);
  store.end_attempt(id, RunState::finished, 0, {}, "");

  CHECK(refusal(store, folder, stale) ==
        "launch: another process has continued tiny-aaaaaaaa meanwhile (now finished at step 0); "
        "run the same command again to continue from there");
  CHECK(store.run(id)->attempt == 2);
  CHECK(refusal(store, folder, *store.run(id)) == "");
  CHECK(store.run(id)->attempt == 3);
}

TEST_CASE("continued run: one that began with other data is left alone") {
  const TemporaryFolder temporary;
  const StoreFolder folder{temporary.path(), "runs"};
  Store store(folder.database(), Store::Access::read_write);
  NewRun begun = new_run();
  begun.data_fingerprint = std::string(32, 'f');
  const int64_t id = store.create_run(begun);
  fs::create_directory(folder.run(begun.folder).path);
  store.end_attempt(id, RunState::interrupted, 130, {}, "");
  CHECK(refusal(store, folder, *store.run(id)) ==
        "launch: the data of tiny-aaaaaaaa has changed since it began (fingerprint ffffffff, now "
        "), or this version of exprun prepares it differently; bring the old data back, continue "
        "with "
        "the version that began it, or start a new run: exprun rerun tiny-aaaaaaaa");
  CHECK(store.run(id)->attempt == 1);
}

TEST_CASE("continued run: one whose lock is held is named with its process") {
  const TemporaryFolder temporary;
  const StoreFolder folder{temporary.path(), "runs"};
  Store store(folder.database(), Store::Access::read_write);
  const RunRow run = *store.run(store.create_run(new_run()));
  fs::create_directory(folder.run(run.folder).path);
  const FileLock lock = FileLock::take(folder.run(run.folder).lock());
  CHECK(refusal(store, folder, run) == "launch: tiny-aaaaaaaa is running (process " +
                                           std::to_string(run.pid) + " on " + run.host +
                                           "); stop it first");
}

TEST_CASE("continued run: one that has ended is waited for until its last process lets go of it") {
  const TemporaryFolder temporary;
  const StoreFolder folder{temporary.path(), "runs"};
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run());
  store.end_attempt(id, RunState::interrupted, 130, {}, "");
  const RunRow run = *store.run(id);
  const RunFolder run_folder = folder.run(run.folder);
  fs::create_directory(run_folder.path);
  std::thread holder([lock = FileLock::take(run_folder.lock())]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const FileLock let_go = std::move(lock);
  });
  CHECK(lock_to_continue(store, run_folder, run, "").is_of(run_folder.lock()));
  holder.join();
}

TEST_CASE("continued run: one whose launcher was killed is ending, and not to be stopped") {
  const TemporaryFolder temporary;
  const StoreFolder folder{temporary.path(), "runs"};
  Store store(folder.database(), Store::Access::read_write);
  RunRow run = *store.run(store.create_run(new_run()));
  CHECK_FALSE(has_lost_launcher(run));
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ::waitpid(ended, nullptr, 0);
  run.pid = ended;
  CHECK(has_lost_launcher(run));
  CHECK(is_running(run, "stop it first") ==
        "is ending: its launcher (process " + std::to_string(ended) + " on " + run.host +
            ") is gone, and its trainer saves; run the same command again in a moment");
  RunRow in_container = run;
  in_container.boot_id = run.boot_id.substr(0, run.boot_id.find('/')) + "/pid:[1]";
  CHECK_FALSE(has_lost_launcher(in_container));
  CHECK(is_running(in_container, "stop it first") ==
        "is running (process " + std::to_string(ended) + " of another container on " + run.host +
            "); stop it first");
  run.state = RunState::interrupted;
  CHECK_FALSE(has_lost_launcher(run));
}

TEST_CASE("continued run: one that was removed meanwhile is left alone, and gc loses nothing") {
  const TemporaryFolder temporary;
  const StoreFolder folder{temporary.path(), "runs"};
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run());
  fs::create_directory(folder.run("tiny-aaaaaaaa").path);
  store.end_attempt(id, RunState::interrupted, 130, {}, "");
  const RunRow decided = *store.run(id);

  store.remove_run(id);
  CHECK(refusal(store, folder, decided) ==
        "launch: tiny-aaaaaaaa was removed meanwhile; exprun restore tiny-aaaaaaaa brings it back");
  CHECK(store.run(id)->attempt == 1);
  store.purge_run(id, [] {});
  CHECK(refusal(store, folder, decided) ==
        "launch: tiny-aaaaaaaa was deleted from disk meanwhile; start a new run from its recipe "
        "file");
}

TEST_CASE("continued run: the lock of a run is free, held by another, or nowhere") {
  const TemporaryFolder temporary;
  const StoreFolder folder{temporary.path(), "runs"};
  RunRow run;
  run.folder = "tiny-aaaaaaaa";
  CHECK(hold_ended_run(folder, run).is_free);
  CHECK_FALSE(hold_ended_run(folder, run).lock);
  fs::create_directories(folder.run(run.folder).path);
  const HeldRun held = hold_ended_run(folder, run);
  CHECK(held.lock);
  CHECK_FALSE(hold_ended_run(folder, run).is_free);
}
