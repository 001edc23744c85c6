#include "base/shell_quoted.h"

namespace exprun {

std::string shell_quoted(const std::string& word) {
  const bool plain =
      !word.empty() && word.find_first_of(" \t\n\"'`$\\*?[]{}()<>|&;!#~") == word.npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace exprun
