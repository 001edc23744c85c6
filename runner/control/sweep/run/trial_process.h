// A trial of a sweep as a process of its own: the launcher of one run, which starts and supervises
// its trainers as a plain `exprun RECIPE` does. It gets SIGTERM when the scheduler dies, so that it
// saves and ends, and its end is recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files/file.h"
#include "base/log.h"
#include "control/launch/process/child_process.h"
#include "control/sweep/run/slots.h"
#include "recipe/recipe_text.h"
#include "store/store.h"

namespace exprun {

// What the process is told.
struct TrialRequest {
  RecipeText text;
  int64_t sweep = 0, trial = 0;
  std::string command_line;           // of the sweep
  std::optional<int64_t> instead_of;  // the failed run that a new one is to replace
  bool continues_pruned = false;
  LogLevel level = LogLevel::info;  // debug: it writes to our standard error, not to logs
};

// What main is called with in such a process: `exprun sweep --run-trial`.
inline constexpr const char* kRunTrial = "--run-trial";

class TrialProcess {
 public:
  // Throws Error when it cannot be started.
  TrialProcess(const TrialRequest& request, const Slot& slot, const StoreFolder& folder,
               const ForwardedSignals& signals);

  pid_t pid() const { return pid_; }
  bool has_ended();  // looks
  const ChildEnd& end() const { return *end_; }
  void send(int signal) const;  // unless it has ended

  // The last lines of what the launcher itself said.
  std::vector<std::string> last_output(size_t count) const;

 private:
  UniqueFd output_;  // a file in memory
  pid_t pid_ = 0;
  std::optional<ChildEnd> end_;
};

// In that process: reads the request from standard input, and runs the trial to its end. Returns
// the exit code of its trainer, 0 where none was to be started. Throws what launch() throws.
int run_trial(Store& store, const StoreFolder& folder);

}  // namespace exprun
