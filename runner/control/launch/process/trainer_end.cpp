#include "control/launch/process/trainer_end.h"

#include <cstring>
#include <fstream>

#include "base/diagnostic.h"
#include "store/run_state.h"

namespace exprun {

RunState end_state(const ChildEnd& end) {
  if (end.signal) return RunState::killed;
  return state_after(static_cast<ExitCode>(end.exit_code.value_or(1)));
}

bool deserves_restart(const ChildEnd& end) {
  const RunState state = end_state(end);
  return state == RunState::killed ||
         (state == RunState::failed && end.exit_code != static_cast<int>(ExitCode::bad_recipe));
}

int exit_status(const ChildEnd& end) {
  if (end.signal) return 128 + *end.signal;
  const int code = end.exit_code.value_or(1);
  return code == static_cast<int>(ExitCode::lost_ranks) ? static_cast<int>(ExitCode::failed) : code;
}

std::string signal_message(const ChildEnd& end) {
  if (!end.signal) return "";
  const char* const name = ::sigabbrev_np(*end.signal);
  std::string text = "ended by SIG" + std::string(name ? name : std::to_string(*end.signal));
  if (*end.signal == SIGKILL) text += " (kill -9, or out of memory)";
  return text;
}

namespace {

// "[W1122 03:54:25.123 socket.cpp:469] [c10d] ..."
bool is_head_of_library(const std::string& line) {
  return line.size() > 6 && line[0] == '[' &&
         std::string("IWEF").find(line[1]) != std::string::npos &&
         line.find_first_not_of("0123456789", 2) == 6;
}

bool is_of_library(const std::string& line) {
  return line.starts_with("frame #") || line.starts_with("Exception raised from ") ||
         is_head_of_library(line);
}

}  // namespace

std::vector<std::string> last_lines(const std::filesystem::path& file, size_t count) {
  constexpr std::streamoff kLookedAt = 16 << 10;
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) return {};
  if (stream.tellg() > kLookedAt)
    stream.seekg(-kLookedAt, std::ios::end);
  else
    stream.seekg(0);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty() && !is_of_library(line)) lines.push_back(std::move(line));
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<long>(count));
  return lines;
}

std::string error_in(const std::vector<std::string>& lines) {
  const std::string head = "exprun: error: ";
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->starts_with(head)) return line->substr(head.size());
    if (line->find(": error: ") != std::string::npos) return *line;
  }
  return "it failed";
}

}  // namespace exprun
