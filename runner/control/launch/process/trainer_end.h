// What the end of a trainer says about its run: its exit code or signal, and the end of its log.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "control/launch/process/child_process.h"
#include "store/rows.h"

namespace exprun {

// Exit codes are the trainer's contract (base/diagnostic.h); death by a signal is "killed".
RunState end_state(const ChildEnd& end);

// Whether all ranks may be started again. A diverged run would diverge again, a wrong recipe is
// wrong again.
bool deserves_restart(const ChildEnd& end);

// What the launcher answers to its shell: the same code, or 128 + signal.
int exit_status(const ChildEnd& end);

// For people: "ended by SIGKILL (kill -9, or out of memory)"; empty for an exit.
std::string signal_message(const ChildEnd& end);

// The end of a log, for people: at most `count` lines of the last 16 KiB; none where there is no
// such file. Empty ones are left out, and what LibTorch logs by itself: "[W1122 ... socket.cpp:469]
// ...", with its stacks.
std::vector<std::string> last_lines(const std::filesystem::path& file, size_t count);

// The last error among them: our own line without its head, or a mistake in the recipe.
std::string error_in(const std::vector<std::string>& lines);

}  // namespace exprun
