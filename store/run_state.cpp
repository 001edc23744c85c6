#include "store/run_state.h"

#include "base/file_lock.h"
#include "base/run_folder.h"
#include "store/process_identity.h"

namespace exprun {

bool on_another_host(const RunRow& row) {
  return !on_this_host(row.host, row.boot_id);
}

RunState observed_state(const RunRow& row, const std::filesystem::path& store_folder) {
  if (row.state != RunState::running || on_another_host(row)) return row.state;
  const RunFolder folder{store_folder / row.folder};
  return FileLock::held(folder.lock()) ? RunState::running : RunState::crashed;
}

}  // namespace exprun
