#include "control/launch/git_state.h"

#include "base/diagnostic.h"
#include "control/launch/process/capture.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostDiffBytes = 1 << 20;
constexpr size_t kMostUntracked = 200;

// Spares a machine without a repository the start of git.
bool in_repository(fs::path folder) {
  std::error_code ignored;
  for (folder = fs::absolute(folder, ignored);; folder = folder.parent_path()) {
    if (fs::exists(folder / ".git", ignored)) return true;
    if (!folder.has_relative_path()) return false;
  }
}

// Nothing is written to the repository, and no user's setting changes the form of the answer.
Captured git(const fs::path& folder, std::vector<std::string> words) {
  std::vector<std::string> all = {"git", "--no-optional-locks", "-C", folder.string()};
  all.insert(all.end(), words.begin(), words.end());
  return capture(all, "", {true, kMostDiffBytes});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

}  // namespace

std::optional<GitState> git_state(const fs::path& folder) {
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
    state.untracked = lines_of(git(top, {"ls-files", "--others", "--exclude-standard"}).output);
    if (state.untracked.size() > kMostUntracked) state.untracked.resize(kMostUntracked);
    return state;
  } catch (const Error&) {  // there is no git
    return std::nullopt;
  }
}

}  // namespace exprun
