// What a sweep says of its trials while it runs: "[3/8] lr=1e-3: started".
#pragma once

#include <filesystem>
#include <string>

#include "control/launch/store_folder.h"
#include "control/sweep/trials.h"

namespace exprun {

class TrialMessages {
 public:
  // Both must outlive it.
  TrialMessages(const StoreFolder& folder, const SweepPlan& plan) : folder_(folder), plan_(plan) {}

  void say(const Trial& trial, const std::string& text) const;
  void warn(const Trial& trial, const std::string& text) const;

  // A run of this call has failed; `text`: its state and why. The first one shows the last lines of
  // its log, without those that repeat its message.
  void warn_of_failure(const Trial& trial, const RunRow& run, std::string text);

 private:
  std::string prefix(const Trial& trial) const;

  const StoreFolder& folder_;
  const SweepPlan& plan_;
  bool has_shown_a_log_ = false;
};

// Why a trial could not begin, as its launcher said it, with the text of a change for the place of
// a mistake in it: nobody typed the changes in the order in which they stand.
std::string by_change(const std::string& why, const Trial& trial);

}  // namespace exprun
