// TensorBoard's event file of a live run. Training never stops for it: the first trouble (a full
// disk, say) is one warning, and what cannot be written is left out; the store has it all.
#pragma once

#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>

#include "base/event_file.h"

namespace exprun {

class LiveEventFile {
 public:
  // Makes the file in the folder; without it nothing will be written.
  explicit LiveEventFile(const std::filesystem::path& folder);

  // Any thread.
  void write(const std::function<void(EventFile&)>& what);

 private:
  void warn_once(const std::exception& error);

  std::atomic<bool> warned_{false};
  std::optional<EventFile> file_;
};

}  // namespace exprun
