#include "control/launch/run/run_lock.h"

#include <filesystem>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "control/launch/run/observed_run.h"

namespace exprun {

FileLock lock_new_run(const RunFolder& folder) {
  if (auto lock = FileLock::try_take(folder.lock())) return std::move(*lock);
  throw Error("launch: another process holds " + folder.lock().string());
}

FileLock lock_to_continue(const Store& store, const RunFolder& folder, const RunRow& run,
                          const std::string& instead) {
  if (!folder_exists(folder.path))
    throw Error("launch: the folder of " + run.folder + " is gone (" + folder.path.string() +
                "); " + instead);
  if (auto lock = FileLock::try_take(folder.lock())) return std::move(*lock);
  throw Error("launch: " + run.folder + ' ' +
              is_running(store.run(run.id).value_or(run), "stop it first"));
}

HeldRun hold_ended_run(const StoreFolder& folder, const RunRow& run) {
  const RunFolder run_folder = folder.run(run.folder);
  if (!folder_exists(run_folder.path)) return {};
  auto lock = FileLock::try_take(run_folder.lock());
  const bool is_free = lock.has_value();
  return {std::move(lock), is_free};
}

}  // namespace exprun
