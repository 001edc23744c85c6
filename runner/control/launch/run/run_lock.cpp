#include "control/launch/run/run_lock.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/diagnostic.h"
#include "control/launch/run/observed_run.h"
#include "store/run_state.h"

namespace exprun {

FileLock lock_new_run(const RunFolder& folder) {
  if (auto lock = FileLock::try_take(folder.lock())) return std::move(*lock);
  throw Error("launch: another process holds " + folder.lock().string());
}

FileLock lock_to_continue(const Store& store, const RunFolder& folder, const RunRow& run) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder.path, ignored))
    throw Error("launch: the folder of " + run.folder + " is gone (" + folder.path.string() +
                "); start a new run: exprun RECIPE --new");
  if (auto lock = FileLock::try_take(folder.lock())) return std::move(*lock);
  throw Error("launch: " + run.folder + ' ' + is_running(store.run(run.id).value_or(run)) +
              "; stop it first");
}

HeldRun hold_ended_run(const StoreFolder& folder, const RunRow& run) {
  const RunFolder run_folder = folder.run(run.folder);
  std::error_code ignored;
  if (!std::filesystem::is_directory(run_folder.path, ignored)) return {};
  auto lock = FileLock::try_take(run_folder.lock());
  const bool is_free = lock.has_value();
  return {std::move(lock), is_free};
}

namespace {

constexpr auto kLongestWrite = std::chrono::seconds(2);
constexpr auto kBetweenLooks = std::chrono::milliseconds(20);
constexpr int kFurtherLooks = 10;

std::string what_its_lock_says(const StoreFolder& folder, const RunRow& run) {
  const RunRow now = as_observed(run, folder.path);
  if (run.state == RunState::running && now.state != RunState::running)
    return std::string("has ended (") + to_string(now.state) +
           "), which is not recorded yet; run exprun gc or any command that writes to the store";
  if (now.state != RunState::running && !on_another_host(now) &&
      FileLock::held(folder.run(run.folder).lock()))
    return "has ended, and a process still holds its run.lock (lslocks names it)";
  return "";
}

}  // namespace

// A run that is being begun or ended is locked first and unlocked last, and looks so for a moment.
std::vector<std::string> stale_locks(const Store& store, const StoreFolder& folder,
                                     std::vector<RunRow> runs) {
  const auto is_well = [&](const RunRow& run) { return what_its_lock_says(folder, run).empty(); };
  std::erase_if(runs, is_well);
  for (int look = 0; look < kFurtherLooks && !runs.empty(); ++look) {
    std::this_thread::sleep_for(kBetweenLooks);
    for (RunRow& run : runs) run = store.run(run.id).value_or(run);
    std::erase_if(runs, is_well);
  }
  std::vector<std::string> stale;
  for (const RunRow& run : runs)
    stale.push_back(run.folder + " (id " + std::to_string(run.id) + ") " +
                    what_its_lock_says(folder, run));
  return stale;
}

// Those who write hold it for a moment, again and again.
std::string store_lock(const StoreFolder& folder) {
  const std::filesystem::path file = folder.database().string() + ".lock";
  const auto end = std::chrono::steady_clock::now() + kLongestWrite;
  while (FileLock::held(file)) {
    if (std::chrono::steady_clock::now() > end)
      return "a process keeps " + file.filename().string() + " (lslocks names it)";
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return "free";
}

}  // namespace exprun
