// What lies in a run's folder, runs/<name>-<first 8 of uid>/, and how both programs find it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace exprun {

struct RunFolder {
  std::filesystem::path path;

  // A FileLock: the launcher takes it (control/launch/run/run_lock.h), and the trainer inherits it.
  std::filesystem::path lock() const { return path / "run.lock"; }
  std::filesystem::path recipe() const { return path / "recipe.json"; }       // RecipeText
  std::filesystem::path data() const { return path / "data.json"; }           // PreparedData
  std::filesystem::path kernels() const { return path / "kernels.json"; }     // chosen kernels
  std::filesystem::path threads() const { return path / "threads.json"; }     // RankThreads
  std::filesystem::path checkpoints() const { return path / "checkpoints"; }  // step_00000300/
  std::filesystem::path logs() const { return path / "logs"; }                // of the ranks
  std::filesystem::path log(int64_t attempt, int rank) const;         // logs/attempt-1-rank-1.log
  std::filesystem::path samples() const { return path / "samples"; }  // step_00000300.txt
};

// How many threads each rank of a run computes with. Bits depend on it: it is the same in every
// attempt with as many ranks, also before there is a checkpoint.
struct RankThreads {
  int threads = 1;
  int world_size = 1;

  friend bool operator==(const RankThreads&, const RankThreads&) = default;
};

// Of the run's last attempt; nothing where none has come so far, or the file cannot be read.
std::optional<RankThreads> kept_threads(const RunFolder& run);

// Makes them durable. Throws Error.
void keep_threads(const RunFolder& run, const RankThreads& threads);

// Of the store's database, in the folder of all runs.
inline constexpr const char* kDatabaseName = "exprun.db";

// Whether a folder is a store of runs.
bool is_store(const std::filesystem::path& folder);

// The option that a command needs to mean the store in this folder, where it is not the usual one:
// " --store /a".
std::string store_option(const std::filesystem::path& store);

}  // namespace exprun
