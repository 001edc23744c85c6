#include "control/sweep/sweep_processes.h"

#include <unistd.h>

#include <optional>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "store/run_state.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".lock";

fs::path folder_of_locks(const StoreFolder& folder) {
  return folder.path / "sweeps";
}

// "<uid>.<host>.<pid>.lock"; a host's name may have dots.
std::optional<SweepProcess> process_of(std::string name, const std::string& uid) {
  if (!name.starts_with(uid + '.') || !name.ends_with(kSuffix)) return std::nullopt;
  name = name.substr(uid.size() + 1, name.size() - uid.size() - 1 - kSuffix.size());
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const auto pid = parse_number<int64_t>(name.substr(dot + 1));
  if (!pid) return std::nullopt;
  return SweepProcess{name.substr(0, dot), *pid};
}

std::vector<fs::path> lock_files(const StoreFolder& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of_locks(folder), error))
    files.push_back(entry.path());
  return files;
}

}  // namespace

TransientLock join_sweep(const StoreFolder& folder, const std::string& uid) {
  std::error_code error;
  fs::create_directories(folder_of_locks(folder), error);
  if (error)
    throw Error("sweep: cannot make " + folder_of_locks(folder).string() + ": " + error.message());
  // Those of killed processes go: to take a free one and drop it removes it.
  for (const fs::path& file : lock_files(folder))
    if (process_of(file.filename().string(), uid)) TransientLock::try_take(file);
  return TransientLock::take(
      folder_of_locks(folder) /
      (uid + '.' + host_of_processes() + '.' + std::to_string(::getpid()) + std::string(kSuffix)));
}

std::vector<SweepProcess> sweep_processes(const StoreFolder& folder, const std::string& uid) {
  std::vector<SweepProcess> processes;
  for (const fs::path& file : lock_files(folder)) {
    const auto process = process_of(file.filename().string(), uid);
    if (process && FileLock::held(file)) processes.push_back(*process);
  }
  return processes;
}

}  // namespace exprun
