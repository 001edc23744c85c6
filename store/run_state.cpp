#include "store/run_state.h"

#include "base/file_lock.h"
#include "base/run_folder.h"
#include "store/last_words.h"
#include "store/process_identity.h"

namespace exprun {

bool on_another_host(const RunRow& row) {
  return !on_this_host(row.host, row.boot_id);
}

RunRow as_observed(RunRow row, const std::filesystem::path& store_folder) {
  if (row.state != RunState::running) return row;
  const std::filesystem::path lock = RunFolder{store_folder / row.folder}.lock();
  if (const auto words = last_words(lock, row.attempt)) {
    row.state = words->state;
    row.ended_ms = words->ended_ms;
    row.exit_code = words->exit_code;
    row.signal = words->signal;
    row.message = words->message;
  } else if (!on_another_host(row) && !FileLock::held(lock)) {
    row.state = RunState::crashed;
    row.ended_ms = row.last_beat_ms;
    row.message = kCrashMessage;
  }
  return row;
}

}  // namespace exprun
