#include "control/data/sources/sources.h"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/strings.h"
#include "control/data/input_files.h"
#include "control/data/read/byte_stream.h"
#include "control/data/sources/missing_file.h"
#include "recipe/paths.h"
#include "recipe/quantities.h"
#include "recipe/schema/schema.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

// Names as text, and the kernel's own listing: an fs::path for each of thousands of files takes
// longer than looking for them.
std::string below(const std::string& folder, std::string_view name) {
  std::string path = folder;
  if (!folder.empty() && !folder.ends_with('/')) path += '/';
  return path += name;
}

// What cannot be looked at is neither: a broken link, a folder without permission.
bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_folder_itself(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// An entry of a folder.
struct Entry {
  const std::string& folder;
  const std::string name;
  unsigned char type;  // DT_REG, ...

  std::string path() const { return below(folder, name); }
  // A link to a file is one, a link to a folder is none: there may be no end of those.
  bool is_file() const {
    return type == DT_REG || ((type == DT_LNK || type == DT_UNKNOWN) && exprun::is_file(path()));
  }
  bool is_folder() const {
    return type == DT_DIR || (type == DT_UNKNOWN && is_folder_itself(path()));
  }
};

// Hidden ones too; none if there is no such folder.
template <class Visit>
void for_each_entry(const std::string& folder, Visit visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.empty() ? "." : folder.c_str()),
                                                 ::closedir);
  if (!open && (errno == ENOENT || errno == ENOTDIR)) return;
  if (!open) throw file_error("list folder", folder);
  for (errno = 0; const dirent* const entry = ::readdir(open.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(Entry{folder, std::string(name), entry->d_type});
  }
  if (errno != 0) throw file_error("list folder", folder);
}

class Matcher {
 public:
  Matcher(Names names, std::string dataset)
      : names_(std::move(names)), dataset_(std::move(dataset)) {}

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
    } else if (is_file(below(folder, names_[depth]))) {
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
    for_each_entry(folder, [&](const Entry& entry) {
      if (entry.name.starts_with('.')) return;
      if (entry.is_folder() && !is_left_out(entry.path(), dataset_)) walk(entry.path(), depth);
      if (last) take(entry);
    });
  }

  void walk_matching(const std::string& folder, size_t depth, bool last) {
    for_each_entry(folder, [&](const Entry& entry) {
      if (::fnmatch(names_[depth].c_str(), entry.name.c_str(), FNM_PERIOD) != 0) return;
      if (last)
        take(entry);
      else
        walk(entry.path(), depth + 1);
    });
  }

  void take(const Entry& entry) {
    if (entry.is_file() && entry.name != kComposedSchemaFile) found_.push_back(entry.path());
  }

  const Names names_;
  const std::string dataset_;
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

Diagnostic problem(const Value& path, std::string message, std::string help) {
  return {path.where, std::move(message), std::move(help)};
}

std::string quoted(const fs::path& file) {
  return "'" + file.string() + "'";
}

class Finder {
 public:
  Finder(const std::string& libtorch_folder, WantedFiles wanted)
      : libtorch_folder_(libtorch_folder), wanted_(std::move(wanted)) {}

  void find(const Value& path) try {
    ++entries_;
    const std::string expanded = expand_path(*path.as<std::string>(), libtorch_folder_);
    if (expanded == kStandardInput)
      found_.push_back({expanded, path.where});
    else if (is_glob(expanded))
      find_matching(path, expanded);
    else
      find_one(path, expanded);
  } catch (const Error& error) {
    problems_.push_back(lack(path.where, error.what()));
  }

  // As it is written: neither a pattern nor standard input.
  void find_file(const Value& path) try {
    ++entries_;
    const fs::path file = expand_path(*path.as<std::string>(), libtorch_folder_);
    std::error_code ignored;
    if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
      problems_.push_back(problem(path, quoted(file) + " is not a regular file", "give one file"));
    else
      find_one(path, file);
  } catch (const Error& error) {
    problems_.push_back(lack(path.where, error.what()));
  }

  // Each file once, as a name and not by a pattern where it is given by both.
  std::vector<Source> found() {
    if (!problems_.empty()) throw RecipeError(std::move(problems_));
    if (entries_ == 1) return std::move(found_);
    std::set<std::string> named;
    for (const Source& source : found_)
      if (!source.by_glob) named.insert(identity(source.file));
    std::erase_if(found_, [&](const Source& source) {
      return source.by_glob && !named.insert(identity(source.file)).second;
    });
    return std::move(found_);
  }

 private:
  static std::string identity(const fs::path& file) {
    return fs::absolute(file).lexically_normal().native();
  }

  void find_matching(const Value& path, const std::string& pattern) {
    auto files = matching_files(pattern, wanted_.dataset);
    if (files.empty())
      problems_.push_back(lack(path.where, "no file matches '" + pattern + "'",
                               advice_on_pattern(pattern, path.where)));
    found_.reserve(found_.size() + files.size());
    for (fs::path& file : files) found_.push_back({std::move(file), path.where, true});
  }

  void find_one(const Value& path, const fs::path& file) {
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    if (status.type() == fs::file_type::not_found)
      problems_.push_back(
          lack(path.where, quoted(file) + " does not exist", advice_on_file(file, path.where)));
    else if (status.type() == fs::file_type::none)
      problems_.push_back(lack(path.where, "cannot read " + quoted(file) + ": " + error.message()));
    else if (fs::is_directory(status))
      problems_.push_back(problem(path, quoted(file) + " is a folder, not a file",
                                  how_to_name_files_in(file, wanted_)));
    else if (!fs::is_regular_file(status))
      problems_.push_back(problem(path, quoted(file) + " is not a regular file",
                                  "read a pipe with exprun data prepare path=- --out DIR"));
    else
      found_.push_back({file, path.where});
  }

  const std::string& libtorch_folder_;
  const WantedFiles wanted_;
  size_t entries_ = 0;
  std::vector<Source> found_;
  Diagnostics problems_;
};

using Identity = std::pair<int64_t, int64_t>;  // device and inode

std::optional<Identity> identity(const Source& source) {
  const auto stamp = file_stamp(source.file);
  if (!stamp) return std::nullopt;  // standard input
  return Identity(stamp->device, stamp->inode);
}

bool is_among(const Source& source, const std::set<Identity>& known) {
  const auto same = known.empty() ? std::nullopt : identity(source);
  return same && known.contains(*same);
}

void leave_out(std::vector<Source>& train, const std::vector<Source>& validation) {
  std::set<Identity> named;
  for (const Source& source : validation)
    if (const auto same = source.by_glob ? std::nullopt : identity(source)) named.insert(*same);
  std::erase_if(train, [&](const Source& source) {  //
    return source.by_glob && is_among(source, named);
  });
}

}  // namespace

bool is_lack(const Error& error) {
  return dynamic_cast<const FileError*>(&error) != nullptr;
}

Diagnostic problem_at(const SourceSpan& where, const Error& error) {
  constexpr std::string_view kComponent = "data: ";
  std::string_view message = error.what();
  if (message.starts_with(kComponent)) message.remove_prefix(kComponent.size());
  return {where, std::string(message), "", {}, Severity::error, is_lack(error)};
}

bool is_glob(const std::string& pattern) {
  return pattern.find_first_of("*?[") != std::string::npos;
}

std::vector<fs::path> matching_files(const std::string& pattern, const std::string& dataset) {
  const Names names = names_of(pattern);
  if (names.empty()) return {};
  Matcher matcher(names, dataset);
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

std::vector<Source> find_sources(const Value& paths, const std::string& libtorch_folder,
                                 const WantedFiles& wanted) {
  Finder finder(libtorch_folder, wanted);
  if (const Array* array = paths.as<Array>())
    for (const Value& path : *array) finder.find(path);
  else
    finder.find(paths);
  return finder.found();
}

std::filesystem::path find_file(const Value& path, const std::string& libtorch_folder) {
  Finder finder(libtorch_folder, {});
  finder.find_file(path);
  return finder.found().front().file;
}

SplitSources find_split_sources(const Table& dataset, const std::string& libtorch) {
  const std::string type = *dataset.find("type")->as<std::string>();
  const Value& train = *dataset.find(is_made_of_text(type) ? "path" : "train");
  const Value* const validation = dataset.find("validation");
  SplitSources sources;
  Diagnostics problems;
  const auto find = [&](const Value& paths, Split split, std::vector<Source>& found) {
    try {
      found = find_sources(paths, libtorch, {type, split});
    } catch (const RecipeError& error) {
      problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  };
  find(train, Split::train, sources.train);
  if (validation) find(*validation, Split::validation, sources.validation);
  if (!problems.empty()) throw RecipeError(std::move(problems));
  leave_out(sources.train, sources.validation);
  if (sources.train.empty())
    throw RecipeError(train.where,
                      "all matching files are for validation, and none is left to train on",
                      "give other files here or in 'validation'");
  return sources;
}

Diagnostics trained_validation(const SplitSources& sources) {
  std::set<Identity> trained;
  if (!sources.validation.empty())
    for (const Source& source : sources.train)
      if (const auto same = identity(source)) trained.insert(*same);
  for (const Source& source : sources.validation)
    if (is_among(source, trained))
      return {{source.where,
               "the model is validated on its training data, '" + source.file.string() + "'",
               "val/loss does not show overfitting",
               {},
               Severity::warning}};
  return {};
}

Diagnostics repeated_text(const SplitSources& sources) {
  std::set<Identity> known;
  for (const Source& source : sources.train) {
    const auto same = identity(source);
    if (same && !known.insert(*same).second)
      return {{source.where,
               "'" + source.file.string() + "' is named twice, and its text is read twice",
               "remove one of the two",
               {},
               Severity::warning}};
  }
  return {};
}

}  // namespace exprun
