#include "control/data/sources.h"

#include <optional>

#include "base/diagnostic.h"
#include "control/data/byte_stream.h"
#include "control/data/glob.h"
#include "control/data/known_data.h"
#include "recipe/paths.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

Diagnostic problem(const Value& path, std::string message, std::string help) {
  return {path.where, std::move(message), std::move(help), {}, Severity::error};
}

std::string quoted(const fs::path& file) {
  return "'" + file.string() + "'";
}

// A relative path is looked for below the working directory, which the help names.
std::string where_to_put(const fs::path& file) {
  if (const auto command = command_to_get(file)) return "get it: " + *command;
  if (file.string().starts_with("~/")) return "write ${env:HOME}" + file.string().substr(1);
  if (file.is_absolute()) return "write the path of a file that is there";
  std::error_code ignored;
  return "paths are relative to the working directory, " + fs::current_path(ignored).string();
}

class Finder {
 public:
  explicit Finder(const std::string& libtorch_folder) : libtorch_folder_(libtorch_folder) {}

  void find(const Value& path) try {
    const std::string expanded = expand_path(*path.as<std::string>(), libtorch_folder_);
    if (expanded == kStandardInput)
      found_.push_back({expanded, path.where});
    else if (is_glob(expanded))
      find_matching(path, expanded);
    else
      find_one(path, expanded);
  } catch (const Error& error) {
    problems_.push_back(problem(path, error.what(), ""));
  }

  // As it is written: neither a pattern nor standard input.
  void find_file(const Value& path) try {
    const fs::path file = expand_path(*path.as<std::string>(), libtorch_folder_);
    const auto status = status_of(path, file);
    if (status && !fs::is_regular_file(*status))
      problems_.push_back(problem(path, quoted(file) + " is no regular file", ""));
    if (status) found_.push_back({file, path.where});
  } catch (const Error& error) {
    problems_.push_back(problem(path, error.what(), ""));
  }

  std::vector<Source> found() {
    if (!problems_.empty()) throw RecipeError(std::move(problems_));
    return std::move(found_);
  }

 private:
  void find_matching(const Value& path, const std::string& pattern) {
    const auto files = matching_files(pattern);
    if (files.empty())
      problems_.push_back(
          problem(path, "no file matches '" + pattern + "'", where_to_put(pattern)));
    for (const fs::path& file : files) found_.push_back({file, path.where});
  }

  // Of what is there and may be looked at.
  std::optional<fs::file_status> status_of(const Value& path, const fs::path& file) {
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    if (status.type() == fs::file_type::not_found)
      problems_.push_back(problem(path, quoted(file) + " does not exist", where_to_put(file)));
    else if (status.type() == fs::file_type::none)
      problems_.push_back(
          problem(path, "cannot read " + quoted(file) + ": " + error.message(), ""));
    else
      return status;
    return std::nullopt;
  }

  void find_one(const Value& path, const fs::path& file) {
    const auto status = status_of(path, file);
    if (!status) return;
    if (fs::is_directory(*status))
      problems_.push_back(problem(path, quoted(file) + " is a folder, not a file",
                                  "for every file in it: \"" + (file / "**").string() + "\""));
    else
      found_.push_back({file, path.where});
  }

  const std::string& libtorch_folder_;
  std::vector<Source> found_;
  Diagnostics problems_;
};

}  // namespace

std::vector<Source> find_sources(const Value& paths, const std::string& libtorch_folder) {
  Finder finder(libtorch_folder);
  if (const Array* array = paths.as<Array>())
    for (const Value& path : *array) finder.find(path);
  else
    finder.find(paths);
  return finder.found();
}

std::filesystem::path find_file(const Value& path, const std::string& libtorch_folder) {
  Finder finder(libtorch_folder);
  finder.find_file(path);
  return finder.found().front().file;
}

}  // namespace exprun
