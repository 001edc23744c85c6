// The share of this machine that a trial gets while others run beside it: cores and GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files/file.h"
#include "base/files/run_folder.h"
#include "control/sweep/trials.h"

namespace exprun {

struct SlotMachine {
  std::vector<std::vector<int>> cores;  // CPUs by core, those that this process may use
  std::vector<std::string> gpus;        // uuids of those that it may use
};

SlotMachine slot_machine();

// "auto" ranks are one a GPU, of those that are the share of one of `jobs` trials.
RecipeText text_in_slot(const Trial& trial, size_t jobs);

struct SlotNeeds {
  size_t gpus = 0;
  size_t threads = 1;  // of all its ranks; 1 where they follow from its cores, and on GPUs
};

// `text`: of the trial in its slot; `continued`: a run goes on with as many threads as it began
// with, whatever the cores of a trial are now.
SlotNeeds needs_of(const Trial& trial, const RecipeText& text,
                   const std::optional<RunFolder>& continued);

// What one trial holds.
struct Slot {
  std::vector<int> cpus;          // to run on; empty: all
  std::vector<std::string> gpus;  // to see; empty: all that this process sees
  std::vector<int64_t> held;      // bytes of the lock file
  size_t trials = 1;              // in whose room it is
};

// Divides the machine among `jobs` trials. A single one has all of it. Of several, each runs on
// its own cores (one at least; where there are more trials than cores, they share) and sees as many
// GPUs as it has ranks. One that computes with more threads than its share has cores takes the room
// of several. Other `exprun sweep` processes with the same lock file get other cores while there
// are any, and never the same GPU.
class Slots {
 public:
  // Throws Error when the lock file cannot be opened.
  Slots(SlotMachine machine, size_t jobs, const std::filesystem::path& lock_file);

  // Nothing while all are taken, or the GPUs are. `threads`: of a trial with so many at least.
  std::optional<Slot> take(size_t gpus, size_t threads = 1);
  void give_back(const Slot& slot);

 private:
  bool hold(int64_t byte);
  void let_go(int64_t byte);
  bool take_gpus(size_t count, Slot& slot);
  void take_cores(Slot& slot, size_t count);

  SlotMachine machine_;
  size_t jobs_;
  size_t cores_of_trial_;
  UniqueFd locks_;
  std::vector<size_t> trials_on_core_;  // of this process
  std::vector<int64_t> held_;
  size_t taken_ = 0;
};

}  // namespace exprun
