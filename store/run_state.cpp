#include "store/run_state.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/clock.h"
#include "base/files/file_lock.h"
#include "base/files/run_folder.h"
#include "base/machine/network.h"
#include "store/end_record.h"

namespace exprun {
namespace {

std::string first_word(const char* file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

// "/pid:[4026532201]"; nothing where processes are numbered by the machine.
std::string pid_namespace() {
  constexpr std::string_view kOfMachine = "pid:[4026531836]";  // so in every Linux
  std::error_code ignored;
  const std::string own = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
  return own.empty() || own == kOfMachine ? "" : "/" + own;
}

// Without the namespace.
std::string_view kernel_of(std::string_view boot_id) {
  return boot_id.substr(0, boot_id.find('/'));
}

// Field 22 of /proc/PID/stat; the second, the program's name, may hold spaces and brackets. 0 for a
// zombie; nothing where the file cannot be read.
std::optional<int64_t> start_ticks(const std::string& pid) {
  std::string text;
  std::ifstream file("/proc/" + pid + "/stat");
  if (!std::getline(file, text)) return std::nullopt;
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string state, skipped;
  fields >> state;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  int64_t ticks = 0;
  fields >> ticks;
  return state == "Z" || state == "X" ? 0 : ticks;
}

// A container may see another's.
bool proc_is_of_this_namespace() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self", ignored).string() ==
         std::to_string(::getpid());
}

// What does not change while a process lives: those who wait for runs ask again and again.
struct Host {
  std::string name, boot_id, machine_id;
};

const Host& this_host() {
  static const Host host{host_name(),
                         first_word("/proc/sys/kernel/random/boot_id") + pid_namespace(),
                         first_word("/etc/machine-id")};
  return host;
}

}  // namespace

std::string host_of_processes() {
  std::string name = this_host().name;
  const std::string own = pid_namespace();
  if (own.empty()) return name;
  name += '-';
  for (const char c : own)
    if (c >= '0' && c <= '9') name += c;
  return name;
}

ProcessIdentity this_process() {
  const Host& host = this_host();
  return {host.name, host.boot_id, host.machine_id, static_cast<int64_t>(::getpid()),
          start_ticks("self").value_or(0)};
}

bool on_another_host(const RunRow& row) {
  const Host& here = this_host();
  if (!row.boot_id.empty() && kernel_of(row.boot_id) == kernel_of(here.boot_id)) return false;
  return row.host != here.name || row.machine_id != here.machine_id;
}

bool is_silent(const RunRow& row) {
  constexpr int64_t kSilenceMs = 30'000;
  return now_ms() - row.last_beat_ms >= kSilenceMs;
}

bool launcher_lives(const RunRow& row) {
  if (::kill(static_cast<pid_t>(row.pid), 0) != 0 && errno == ESRCH) return false;
  if (!proc_is_of_this_namespace()) return true;
  return start_ticks(std::to_string(row.pid)).value_or(row.pid_started) == row.pid_started;
}

bool in_another_pid_namespace(const RunRow& row) {
  const std::string& here = this_host().boot_id;
  return kernel_of(row.boot_id) == kernel_of(here) && row.boot_id != here;
}

namespace {

// A lock that somebody removed with the folder tells nothing, but a trainer still says each 5 s
// that it lives.
bool is_held(const RunRow& row, const std::filesystem::path& lock) {
  if (FileLock::held(lock)) return true;
  std::error_code error;
  return !std::filesystem::exists(lock, error) && !error && !is_silent(row);
}

}  // namespace

RunRow as_observed(RunRow row, const std::filesystem::path& store_folder) {
  if (row.state != RunState::running) return row;
  const std::filesystem::path lock = RunFolder{store_folder / row.folder}.lock();
  if (const auto record = end_record(lock, row.attempt)) {
    row.state = record->state;
    row.ended_ms = record->ended_ms;
    row.exit_code = record->exit_code;
    row.signal = record->signal;
    row.message = record->message;
  } else if (!on_another_host(row) && !is_held(row, lock)) {
    row.state = RunState::crashed;
    row.ended_ms = row.last_beat_ms;
    row.message = kCrashMessage;
  }
  return row;
}

RunState state_after(ExitCode code) {
  switch (code) {
    case ExitCode::done:
      return RunState::finished;
    case ExitCode::diverged:
      return RunState::diverged;
    case ExitCode::preempted:
      return RunState::preempted;
    case ExitCode::interrupted_int:
    case ExitCode::interrupted_term:
      return RunState::interrupted;
    default:
      return RunState::failed;
  }
}

}  // namespace exprun
