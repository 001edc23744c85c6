#include "control/launch/last_lines.h"

#include <fstream>

namespace exprun {

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
    if (!line.empty()) lines.push_back(std::move(line));
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<long>(count));
  return lines;
}

}  // namespace exprun
