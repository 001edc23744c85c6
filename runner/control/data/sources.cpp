#include "control/data/sources.h"

#include <set>

#include "base/diagnostic.h"
#include "control/data/glob.h"
#include "control/data/known_data.h"
#include "control/data/read/byte_stream.h"
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
  if (const auto command = command_to_get(file.string())) return "get it: " + *command;
  if (file.string().starts_with("~/")) return "write ${env:HOME}" + file.string().substr(1);
  if (file.is_absolute()) return "write the path of a file that is there";
  std::error_code ignored;
  return "paths are relative to the working directory, " + fs::current_path(ignored).string();
}

// A name that holds a bracket is a pattern, of which the file itself is no match.
std::string what_to_write(const std::string& pattern) {
  std::error_code ignored;
  if (!fs::is_regular_file(pattern, ignored)) return where_to_put(pattern);
  std::string name;
  for (const char c : pattern) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') name += '\\';
    name += c;
  }
  return "there is a file of that very name: write '" + name + "'";
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
    std::error_code ignored;
    if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
      problems_.push_back(problem(path, quoted(file) + " is no regular file", "name one file"));
    else
      find_one(path, file);
  } catch (const Error& error) {
    problems_.push_back(problem(path, error.what(), ""));
  }

  std::vector<Source> found() {
    if (!problems_.empty()) throw RecipeError(std::move(problems_));
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
    const auto files = matching_files(pattern);
    if (files.empty())
      problems_.push_back(
          problem(path, "no file matches '" + pattern + "'", what_to_write(pattern)));
    for (const fs::path& file : files) found_.push_back({file, path.where, true});
  }

  void find_one(const Value& path, const fs::path& file) {
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    if (status.type() == fs::file_type::not_found)
      problems_.push_back(problem(path, quoted(file) + " does not exist", where_to_put(file)));
    else if (status.type() == fs::file_type::none)
      problems_.push_back(
          problem(path, "cannot read " + quoted(file) + ": " + error.message(), ""));
    else if (fs::is_directory(status))
      problems_.push_back(problem(path, quoted(file) + " is a folder, not a file",
                                  "for every file in it: \"" + (file / "**").string() + "\""));
    else if (!fs::is_regular_file(status))
      problems_.push_back(problem(path, quoted(file) + " is no regular file",
                                  "a pipe is read by exprun data prepare path=- --out FOLDER"));
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
