// A child process that never outlives its launcher, and whose end is seen exactly.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/launch/process/forwarded_signals.h"

namespace exprun {

struct ChildCommand {
  std::vector<std::string> words;                                // the program's file first
  std::vector<std::pair<std::string, std::string>> environment;  // unless set already
  std::vector<int> kept_fds;  // the descriptors above 2 that the child gets
  // Whether stop signals wait until the child unblocks them (watch_stop_signals does): a program
  // that links LibTorch loads for 0.2 s before it can take one.
  bool holds_stop_signals = false;
  std::filesystem::path log;  // gets both outputs, behind what is there; empty: ours
};

// One of the two.
struct ChildEnd {
  std::optional<int> exit_code, signal;
};

// Starts the child in a process group of its own, so that Ctrl-C reaches it once, from here. At the
// launcher's death the kernel sends it SIGTERM. Throws Error when it cannot be started.
pid_t start_child(const ChildCommand& command, const ForwardedSignals& signals);

// Its end, if it has ended; it is then gone.
std::optional<ChildEnd> take_end(pid_t child);

}  // namespace exprun
