#include "control/launch/provenance.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "base/machine/gpus.h"
#include "base/machine/processor.h"
#include "base/process/program.h"
#include "base/strings.h"
#include "control/launch/process/child_process.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostDiffBytes = 1 << 20;
constexpr size_t kMostUntracked = 200;

// Spares a machine without a repository the start of git.
bool in_repository(fs::path folder) {
  std::error_code ignored;
  for (folder = fs::absolute(folder, ignored);; folder = folder.parent_path()) {
    if (path_exists(folder / ".git")) return true;
    if (!folder.has_relative_path()) return false;
  }
}

// Nothing is written to the repository, and no user's setting changes the form of the answer.
Captured git(const fs::path& folder, std::vector<std::string> words) {
  std::vector<std::string> all = {"git", "--no-optional-locks", "-C", folder.string()};
  all.insert(all.end(), words.begin(), words.end());
  return capture(all, "", {true, kMostDiffBytes});
}

std::vector<std::string> untracked_files(const fs::path& top, const fs::path& store) {
  std::vector<std::string> words = {"ls-files", "--others", "--exclude-standard"};
  std::error_code ignored;
  const fs::path below = fs::relative(store, top, ignored);
  if (!below.empty() && *below.begin() != "." && *below.begin() != "..") {
    words.push_back("--");
    words.push_back(":(exclude,literal)" + below.string());
  }
  return lines_of(git(top, words).output);
}

}  // namespace

std::optional<GitState> git_state(const fs::path& folder, const fs::path& store) {
  if (!in_repository(folder)) return std::nullopt;
  try {
    const Captured inside = git(folder, {"rev-parse", "--show-toplevel"});
    if (inside.status != 0) return std::nullopt;
    const fs::path top = inside.output.substr(0, inside.output.find('\n'));
    GitState state;
    if (const Captured head = git(folder, {"rev-parse", "--verify", "HEAD"}); head.status == 0)
      state.commit = head.output.substr(0, head.output.find('\n'));
    const std::string against = state.commit.empty() ? "--cached" : "HEAD";
    state.diff = git(folder, {"diff", "--no-ext-diff", "--no-color", against}).output;
    state.diff_is_cut = state.diff.size() >= kMostDiffBytes;
    state.untracked = untracked_files(top, store);
    state.untracked_is_cut = state.untracked.size() > kMostUntracked;
    if (state.untracked_is_cut) state.untracked.resize(kMostUntracked);
    return state;
  } catch (const Error&) {  // there is no git
    return std::nullopt;
  }
}

namespace {

using nlohmann::ordered_json;

constexpr const char* kUsersList = "EXPRUN_RECORD_ENV";
constexpr const char* kRecorded =
    "OMP_*,GOMP_*,KMP_*,MKL_*,ONEDNN_*,DNNL_*,ATEN_*,TORCH_*,CUDA_*,NVIDIA_VISIBLE_DEVICES,NCCL_*,"
    "GLOO_*,LD_PRELOAD,MALLOC_*,SLURM_JOB_ID,SLURM_JOB_NAME,SLURM_JOB_NODELIST,SLURM_ARRAY_*,"
    "SLURM_NTASKS,SLURM_PROCID,SLURM_RESTART_COUNT,PBS_JOBID,LSB_JOBID,JOB_ID,"
    "TORCHELASTIC_RUN_ID,TORCHELASTIC_ERROR_FILE,RANK,WORLD_SIZE,LOCAL_RANK,MASTER_ADDR,"
    "MASTER_PORT,EXPRUN_*";

bool matches(const std::string& name, const std::string& pattern) {
  if (pattern.empty() || pattern.back() != '*') return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool in_list(const std::string& name, const std::string& list) {
  return std::ranges::any_of(words_of_list(list),
                             [&](const std::string& pattern) { return matches(name, pattern); });
}

ordered_json recorded_variables() {
  const char* const users = std::getenv(kUsersList);
  ordered_json variables = ordered_json::object();
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (is_recorded(name, users ? users : "")) variables[name] = text.substr(name.size() + 1);
  }
  return variables;
}

ordered_json machine() {
  utsname system = {};
  ::uname(&system);
  struct sysinfo memory = {};
  ::sysinfo(&memory);
  return {{"host", system.nodename},
          {"system", std::string(system.sysname) + ' ' + system.release + ' ' + system.machine},
          {"cpu", processor_model()},
          {"cpus", std::thread::hardware_concurrency()},
          {"memory_bytes", static_cast<int64_t>(memory.totalram) * memory.mem_unit}};
}

// What a rank of an external launcher does not see another rank of the run may: nothing is hidden
// then.
void add_gpus(ordered_json& environment, bool ranks_elsewhere) {
  const auto nvml = Nvml::open();
  if (!nvml) return;
  environment["driver"] = nvml->driver_version();
  environment["driver_cuda"] = nvml->cuda_version();
  const auto visible = visible_gpus(nvml->gpus(), std::getenv("CUDA_VISIBLE_DEVICES"));
  for (size_t i = 0; i < nvml->gpus().size(); ++i) {
    const Gpu& gpu = nvml->gpus()[i];
    ordered_json entry = {{"name", gpu.name},
                          {"uuid", gpu.uuid},
                          {"memory_bytes", gpu.memory_bytes},
                          {"power_limit_watts", gpu.power_limit_watts}};
    const bool is_visible = std::find(visible.begin(), visible.end(), i) != visible.end();
    if (!is_visible && !ranks_elsewhere) entry["hidden"] = true;
    environment["gpus"].push_back(std::move(entry));
  }
}

}  // namespace

bool is_recorded(const std::string& variable, const std::string& users_list) {
  return in_list(variable, kRecorded) || in_list(variable, users_list);
}

Provenance gather_provenance(const std::string& command_line, const fs::path& store,
                             const std::optional<LocalRanks>& ranks) {
  Provenance provenance;
  provenance.version = version();
  ordered_json environment = {{"command_line", command_line}};
  if (ranks && ranks->several_machines)
    environment[kSeveralMachines] = std::to_string(ranks->world_size) + " ranks";
  environment.update(machine());
  add_gpus(environment, ranks.has_value());
  environment["environment"] = recorded_variables();
  if (const auto git = git_state(fs::current_path(), store)) {
    if (!git->commit.empty()) provenance.git_commit = git->commit;
    provenance.git_dirty = git->dirty();
    provenance.git_diff = git->diff;
    if (git->diff_is_cut) environment["git_diff_is_cut"] = true;
    if (!git->untracked.empty()) environment["git_untracked"] = git->untracked;
    if (git->untracked_is_cut) environment["git_untracked_is_cut"] = true;
  }
  provenance.environment_json = json_text(environment, -1, NotUtf8::replaced);
  return provenance;
}

}  // namespace exprun
