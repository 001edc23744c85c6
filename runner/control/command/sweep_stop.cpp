// exprun sweep stop SWEEP
#include <signal.h>

#include <chrono>
#include <thread>

#include "base/diagnostic.h"
#include "base/strings.h"
#include "control/command/line/arguments.h"
#include "control/command/stored/stored_runs.h"
#include "control/command/sweep.h"
#include "control/sweep/stored_sweeps.h"
#include "store/run_state.h"

namespace exprun {
namespace {

constexpr std::chrono::milliseconds kPollInterval{50};

// Those of this host are told; how many there are on others.
size_t tell_to_stop(const std::vector<SweepProcess>& processes) {
  size_t elsewhere = 0;
  for (const SweepProcess& process : processes) {
    if (process.host == host_of_processes())
      ::kill(static_cast<pid_t>(process.pid), SIGTERM);
    else
      ++elsewhere;
  }
  return elsewhere;
}

}  // namespace

int run_sweep_stop(const Words& words, const Globals& globals) {
  std::string reference;
  Arguments arguments("sweep stop SWEEP",
                      "Stops a sweep: its trials save their state and end. The command that began "
                      "the sweep continues it.");
  arguments.word("SWEEP", reference, kSweepHelp, offer::sweeps)
      .exit_codes(kReadsRuns)
      .example("exprun sweep stop @last", "the newest sweep");
  if (!arguments.parse(words)) return 0;
  const Store store = open_store(globals.store);
  const SweepRow sweep = store.find_sweep(reference);
  const auto processes = sweep_processes(globals.store, sweep.uid);
  const std::string name = "sweep " + std::to_string(sweep.id);
  if (processes.empty()) throw Error("sweep stop: " + name + " is not running");
  if (const size_t elsewhere = tell_to_stop(processes))
    throw Error(name + " runs on " + processes.back().host + " too, in " +
                pluralize(static_cast<int64_t>(elsewhere), "process") +
                "; give the same command there");
  while (!sweep_processes(globals.store, sweep.uid).empty())
    std::this_thread::sleep_for(kPollInterval);
  log_info(name + " has stopped; the command that began it continues it");
  return 0;
}

}  // namespace exprun
