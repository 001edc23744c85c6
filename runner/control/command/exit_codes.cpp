#include "control/command/exit_codes.h"

namespace exprun {

const std::vector<ExitCode> kEveryExitCode = {ExitCode::done,
                                              ExitCode::failed,
                                              ExitCode::bad_recipe,
                                              ExitCode::diverged,
                                              ExitCode::no_such_run,
                                              ExitCode::store_error,
                                              ExitCode::failed_trials,
                                              ExitCode::preempted,
                                              ExitCode::interrupted_int,
                                              ExitCode::interrupted_term};
const std::vector<ExitCode> kFindsRuns = {ExitCode::done, ExitCode::bad_recipe,
                                          ExitCode::no_such_run, ExitCode::store_error};
const std::vector<ExitCode> kReadsRuns = {ExitCode::done, ExitCode::failed, ExitCode::bad_recipe,
                                          ExitCode::no_such_run, ExitCode::store_error};
const std::vector<ExitCode> kTrains = {
    ExitCode::done,      ExitCode::failed,          ExitCode::bad_recipe,
    ExitCode::diverged,  ExitCode::no_such_run,     ExitCode::store_error,
    ExitCode::preempted, ExitCode::interrupted_int, ExitCode::interrupted_term};

const char* meaning(ExitCode code) {
  switch (code) {
    case ExitCode::done:
      return "done";
    case ExitCode::failed:
      return "it failed";
    case ExitCode::bad_recipe:
      return "a mistake in the recipe or the command line";
    case ExitCode::diverged:
      return "the loss is no number any more";
    case ExitCode::no_such_run:
      return "no such run";
    case ExitCode::store_error:
      return "the store cannot be used";
    case ExitCode::failed_trials:
      return "the sweep ended, and trials failed";
    case ExitCode::lost_ranks:
      return "a rank has lost the others";
    case ExitCode::preempted:
      return "saved; run the same line again";
    case ExitCode::interrupted_int:
    case ExitCode::interrupted_term:
      return "saved after a signal; the same line continues";
  }
  return "";
}

}  // namespace exprun
