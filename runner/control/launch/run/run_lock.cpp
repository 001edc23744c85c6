#include "control/launch/run/run_lock.h"

#include <chrono>
#include <thread>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "control/launch/run/observed_run.h"

namespace exprun {
namespace {

constexpr std::chrono::seconds kLongestExit{10};
constexpr std::chrono::milliseconds kBetweenTries{20};

}  // namespace

FileLock lock_new_run(const RunFolder& folder) {
  if (auto lock = FileLock::try_take(folder.lock())) return std::move(*lock);
  throw Error("launch: another process holds " + folder.lock().string());
}

FileLock lock_to_continue(const Store& store, const RunFolder& folder, const RunRow& run,
                          const std::string& instead) {
  if (!folder_exists(folder.path))
    throw Error("launch: the folder of " + run.folder + " is gone (" + folder.path.string() +
                "); " + instead);
  const auto late = std::chrono::steady_clock::now() + kLongestExit;
  for (;;) {
    if (auto lock = FileLock::try_take(folder.lock())) return std::move(*lock);
    const RunRow now = store.run(run.id).value_or(run);
    if (now.state == RunState::running || std::chrono::steady_clock::now() > late)
      throw Error("launch: " + run.folder + ' ' + is_running(now, "stop it first"));
    std::this_thread::sleep_for(kBetweenTries);
  }
}

HeldRun hold_ended_run(const StoreFolder& folder, const RunRow& run) {
  const RunFolder run_folder = folder.run(run.folder);
  if (!folder_exists(run_folder.path)) return {};
  auto lock = FileLock::try_take(run_folder.lock());
  const bool is_free = lock.has_value();
  return {std::move(lock), is_free};
}

}  // namespace exprun
