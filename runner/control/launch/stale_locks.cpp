#include "control/launch/stale_locks.h"

#include <chrono>
#include <thread>

#include "base/file_lock.h"
#include "control/launch/observed_runs.h"
#include "store/run_state.h"

namespace exprun {
namespace {

constexpr auto kLongestWrite = std::chrono::seconds(2);
constexpr auto kBetweenLooks = std::chrono::milliseconds(20);

std::string what_its_lock_says(const Store& store, const StoreFolder& folder, const RunRow& run) {
  const RunRow now = observed(store, folder, run);
  if (run.state == RunState::running && now.state != RunState::running)
    return std::string("has ended (") + to_string(now.state) +
           "), which is not recorded: the next command that changes the store does, as exprun gc";
  if (now.state != RunState::running && !on_another_host(now) &&
      FileLock::held(folder.run(run.folder).lock()))
    return "has ended, and a process still holds its run.lock (lslocks names it)";
  return "";
}

}  // namespace

std::vector<std::string> stale_locks(const Store& store, const StoreFolder& folder,
                                     const std::vector<RunRow>& runs) {
  std::vector<std::string> stale;
  for (const RunRow& run : runs) {
    const std::string what = what_its_lock_says(store, folder, run);
    if (!what.empty()) stale.push_back(run.folder + " (id " + std::to_string(run.id) + ") " + what);
  }
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
