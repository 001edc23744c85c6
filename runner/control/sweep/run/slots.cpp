#include "control/sweep/run/slots.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>

#include "base/files/file_lock.h"
#include "base/hash.h"
#include "base/machine/processor.h"
#include "control/launch/ranks/ranks.h"
#include "control/launch/run_device.h"

namespace exprun {
namespace {

// In the lock file a core is the byte of its first CPU, and a GPU one far beyond, by its uuid.
int64_t byte_of_core(const std::vector<int>& core) {
  return core.front();
}

int64_t byte_of_gpu(const std::string& uuid) {
  constexpr int64_t kFirst = 1 << 20;
  return kFirst + std::strtoll(hash_hex(uuid).substr(0, 7).c_str(), nullptr, 16);
}

}  // namespace

SlotMachine slot_machine() {
  SlotMachine machine{own_cpus_by_core(), {}};
  // A container may be allowed less time than it sees cores.
  const auto most = static_cast<size_t>(own_cores().count());
  if (machine.cores.size() > most) machine.cores.resize(most);
  if (gpu_offer().is_usable())
    for (const Gpu& gpu : gpu_offer().gpus) machine.gpus.push_back(gpu.uuid);
  return machine;
}

RecipeText text_in_slot(const Trial& trial, size_t jobs) {
  GpuOffer offer = gpu_offer();
  if (jobs > 1 && !offer.gpus.empty())
    offer.gpus.resize(std::max<size_t>(1, offer.gpus.size() / jobs));
  return with_a_rank_a_gpu(trial.text, offer);
}

SlotNeeds needs_of(const Trial& trial, const RecipeText& text,
                   const std::optional<RunFolder>& continued) {
  if (gpu_offer().is_usable() && trial.resolved.section("run").get<std::string>("device") != "cpu")
    return {static_cast<size_t>(world_size(resolve(text))), 1};
  const int ranks = world_size(trial.resolved);
  if (const auto kept = continued ? kept_threads(*continued) : std::nullopt;
      kept && kept->world_size == ranks)
    return {0, static_cast<size_t>(kept->threads * ranks)};
  const auto* const asked = trial.resolved.find("run.threads")->as<int64_t>();
  return {0, asked ? static_cast<size_t>(*asked * ranks) : 1};
}

Slots::Slots(SlotMachine machine, size_t jobs, const std::filesystem::path& lock_file)
    : machine_(std::move(machine)),
      jobs_(jobs),
      cores_of_trial_(std::max<size_t>(1, machine_.cores.size() / jobs)),
      locks_(::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)),
      trials_on_core_(machine_.cores.size(), 0) {
  if (!locks_) throw file_error("open the lock file", lock_file);
}

// Where a file system has no locks, cores may be shared.
bool Slots::hold(int64_t byte) {
  if (std::find(held_.begin(), held_.end(), byte) != held_.end()) return false;
  struct flock range = byte_range(byte, F_WRLCK);
  if (::fcntl(locks_.get(), F_OFD_SETLK, &range) != 0 && (errno == EAGAIN || errno == EACCES))
    return false;
  held_.push_back(byte);
  return true;
}

void Slots::let_go(int64_t byte) {
  struct flock range = byte_range(byte, F_UNLCK);
  ::fcntl(locks_.get(), F_OFD_SETLK, &range);
  std::erase(held_, byte);
}

// All, or none.
bool Slots::take_gpus(size_t count, Slot& slot) {
  for (const std::string& gpu : machine_.gpus) {
    if (slot.gpus.size() == count) break;
    if (!hold(byte_of_gpu(gpu))) continue;
    slot.gpus.push_back(gpu);
    slot.held.push_back(byte_of_gpu(gpu));
  }
  if (slot.gpus.size() == count) return true;
  for (const int64_t byte : slot.held) let_go(byte);
  return false;
}

// Cores that nobody has, then those with the fewest trials of this process.
void Slots::take_cores(Slot& slot, size_t count) {
  std::vector<size_t> order(machine_.cores.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return trials_on_core_[a] < trials_on_core_[b]; });
  std::vector<size_t> chosen;
  for (const size_t core : order) {
    if (chosen.size() == count) break;
    if (!hold(byte_of_core(machine_.cores[core]))) continue;
    slot.held.push_back(byte_of_core(machine_.cores[core]));
    chosen.push_back(core);
  }
  for (const size_t core : order)
    if (chosen.size() < count && std::find(chosen.begin(), chosen.end(), core) == chosen.end())
      chosen.push_back(core);
  for (const size_t core : chosen) {
    ++trials_on_core_[core];
    slot.cpus.insert(slot.cpus.end(), machine_.cores[core].begin(), machine_.cores[core].end());
  }
}

std::optional<Slot> Slots::take(size_t gpus, size_t threads) {
  const size_t cores =
      std::max(cores_of_trial_, std::min(threads, std::max<size_t>(1, machine_.cores.size())));
  Slot slot;
  slot.trials = std::min(jobs_, (cores + cores_of_trial_ - 1) / cores_of_trial_);
  if (taken_ + slot.trials > jobs_) return std::nullopt;
  if (!take_gpus(std::min(gpus, machine_.gpus.size()), slot)) return std::nullopt;
  if (slot.gpus.size() == machine_.gpus.size()) slot.gpus.clear();
  if (jobs_ > 1 && !machine_.cores.empty()) take_cores(slot, cores);
  taken_ += slot.trials;
  return slot;
}

void Slots::give_back(const Slot& slot) {
  for (const int64_t byte : slot.held) let_go(byte);
  for (size_t core = 0; core < machine_.cores.size(); ++core)
    if (std::find(slot.cpus.begin(), slot.cpus.end(), machine_.cores[core].front()) !=
        slot.cpus.end())
      --trials_on_core_[core];
  taken_ -= slot.trials;
}

}  // namespace exprun
