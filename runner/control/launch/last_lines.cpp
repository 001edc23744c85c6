#include "control/launch/last_lines.h"

#include <fstream>

namespace exprun {

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

}  // namespace exprun
