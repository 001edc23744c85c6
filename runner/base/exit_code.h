// What the programs tell the shell. Scripts rely on these: do not change the values.
#pragma once

namespace exprun {

enum class ExitCode : int {
  done = 0,
  failed = 1,
  bad_recipe = 2,  // also wrong usage
  diverged = 3,
  no_such_run = 4,
  store_error = 5,
  failed_trials = 6,       // a sweep ended, with failed trials
  lost_ranks = 74,         // between a rank and its launcher only, which answers 1
  preempted = 75,          // saved, or not begun; run me again (EX_TEMPFAIL)
  interrupted_int = 130,   // saved after SIGINT
  interrupted_term = 143,  // saved after SIGTERM
};

}  // namespace exprun
