#include "control/data/glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file_error.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

// Names as text: comparing and joining thousands of fs::path takes longer than listing them.
std::string below(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.ends_with('/') ? folder + name : folder + '/' + name;
}

// Entries of a folder, hidden ones too; none if there is no such folder.
template <class Visit>
void for_each_entry(const std::string& folder, Visit visit) {
  std::error_code error;
  fs::directory_iterator iterator(folder.empty() ? "." : folder, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) return;
  if (error) throw file_error("list folder", folder, error.value());
  for (const auto& entry : iterator) visit(entry, entry.path().filename().string());
}

// What cannot be looked at is no match: a broken link, a folder without permission.
bool is_file(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_regular_file(ignored);
}

fs::directory_entry entry_at(const std::string& path) {
  std::error_code ignored;
  return fs::directory_entry(path, ignored);
}

bool is_folder(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_directory(ignored) && !entry.is_symlink(ignored);
}

class Matcher {
 public:
  explicit Matcher(Names names) : names_(std::move(names)) {}

  // Adds what matches names_[depth...] below `folder`.
  void walk(const std::string& folder, size_t depth) {
    const bool last = depth + 1 == names_.size();
    if (names_[depth] == "**") {
      if (!last) walk(folder, depth + 1);
      walk_any_depth(folder, depth, last);
    } else if (is_glob(names_[depth])) {
      walk_matching(folder, depth, last);
    } else if (!last) {
      walk(below(folder, names_[depth]), depth + 1);
    } else if (is_file(entry_at(below(folder, names_[depth])))) {
      found_.push_back(below(folder, names_[depth]));
    }
  }

  std::vector<fs::path> found() {
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return {found_.begin(), found_.end()};
  }

 private:
  void walk_any_depth(const std::string& folder, size_t depth, bool last) {
    for_each_entry(folder, [&](const fs::directory_entry& entry, const std::string& name) {
      if (name.starts_with('.')) return;
      if (is_folder(entry)) walk(below(folder, name), depth);
      if (last && is_file(entry)) found_.push_back(below(folder, name));
    });
  }

  void walk_matching(const std::string& folder, size_t depth, bool last) {
    for_each_entry(folder, [&](const fs::directory_entry& entry, const std::string& name) {
      if (::fnmatch(names_[depth].c_str(), name.c_str(), FNM_PERIOD) != 0) return;
      if (!last) walk(below(folder, name), depth + 1);
      if (last && is_file(entry)) found_.push_back(below(folder, name));
    });
  }

  const Names names_;
  Names found_;
};

Names names_of(std::string_view pattern) {
  Names names;
  while (!pattern.empty()) {
    const size_t slash = pattern.find('/');
    if (slash != 0) names.emplace_back(pattern.substr(0, slash));
    pattern.remove_prefix(slash == std::string_view::npos ? pattern.size() : slash + 1);
  }
  return names;
}

}  // namespace

bool is_glob(const std::string& pattern) {
  return pattern.find_first_of("*?[") != std::string::npos;
}

std::vector<fs::path> matching_files(const std::string& pattern) {
  const Names names = names_of(pattern);
  if (names.empty()) return {};
  Matcher matcher(names);
  matcher.walk(pattern.starts_with('/') ? "/" : "", 0);
  return matcher.found();
}

std::optional<std::string> start_before(const std::string& pattern, const std::string& path) {
  const Names wanted = names_of(pattern), names = names_of(path);
  if (wanted.size() < names.size()) return std::nullopt;
  const size_t first = wanted.size() - names.size();
  std::string start = pattern.starts_with('/') ? "/" : "";
  for (size_t i = 0; i < first; ++i) start += wanted[i] + '/';
  for (size_t i = 0; i < names.size(); ++i)
    if (::fnmatch(wanted[first + i].c_str(), names[i].c_str(), FNM_PERIOD) != 0)
      return std::nullopt;
  return start;
}

}  // namespace exprun
