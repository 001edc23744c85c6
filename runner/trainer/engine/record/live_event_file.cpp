#include "engine/record/live_event_file.h"

#include <string>

#include "base/clock.h"
#include "base/log.h"

namespace exprun {

LiveEventFile::LiveEventFile(const std::filesystem::path& folder) {
  try {
    file_.emplace(folder, static_cast<double>(now_ms()) / 1e3);
  } catch (const std::exception& error) {
    warn_once(error);
  }
}

void LiveEventFile::write(const std::function<void(EventFile&)>& what) try {
  if (file_) what(*file_);
} catch (const std::exception& error) {
  warn_once(error);
}

void LiveEventFile::warn_once(const std::exception& error) {
  if (!warned_.exchange(true))
    log_warning(std::string(error.what()) +
                ". Training goes on, and TensorBoard's file lacks what could not be written "
                "(`exprun export RUN --tensorboard DIR` writes it all from the store)");
}

}  // namespace exprun
