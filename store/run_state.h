// The state of a run as it is, not as it was last recorded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/diagnostic.h"
#include "store/rows.h"

namespace exprun {

inline constexpr const char* kCrashMessage = "its process ended without recording why";

// A run recorded as running whose attempt left an end record (end_record.h) ended as that record
// says; one whose lock is free crashed: nobody was left to record its end. So did one whose folder
// is gone, and the lock with it, if it is silent too. On another host the lock cannot be asked, so
// the run stays "running" and `last_beat_ms` tells when it was last seen alive. A row read before
// the run ended may be answered "crashed" by mistake: read it again before acting on that, or use
// Store::reconcile_state, which does.
RunRow as_observed(RunRow row, const std::filesystem::path& store_folder);

// Whether nobody here can tell if a run recorded as running still does. This host is the kernel
// that the run was recorded under, or the same installation under the same name after a restart; a
// name alone is not enough, because machines and containers share names.
bool on_another_host(const RunRow& row);

// Whether a run recorded as running has given no sign of life for 30 s: while its steps are
// recorded, a run writes each 5 s.
bool is_silent(const RunRow& row);

// Whether a run of this host was recorded in a container with process numbers of its own: its lock
// tells if it still lives, but here its pid is nobody's, or another process's.
bool in_another_pid_namespace(const RunRow& row);

// Whether the process that began the attempt is there: no zombie, and none that has got its number
// since, as far as /proc tells. Ask it of this host and PID namespace only.
bool launcher_lives(const RunRow& row);

// "box", or "box-4026532201" in a container that has this PID namespace of its own: where it is
// the same, a process number means the same process.
std::string host_of_processes();

// Who writes: enough to tell, later and from elsewhere, whether that process still lives.
struct ProcessIdentity {
  std::string host;
  std::string boot_id;     // of the kernel, new after every start; "/" and the PID namespace follow
                           // where that is not the machine's own
  std::string machine_id;  // of the installation (machine-id(5)); empty where it has none
  int64_t pid = 0;
  int64_t pid_started = 0;  // clock ticks after boot: tells a reused pid apart
};

ProcessIdentity this_process();

// How a run has ended whose trainer ended with this code.
RunState state_after(ExitCode code);

}  // namespace exprun
