#include "control/data/sources/missing_file.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/strings.h"
#include "base/suggest.h"
#include "control/data/fetch/catalogue.h"
#include "control/data/sources/folder_patterns.h"
#include "control/data/sources/sources.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// ["a.md", "b.md"] of "a.md,b.md"; nothing if one of them is no file either.
std::optional<std::string> as_array(const std::string& files) {
  std::string array;
  std::error_code ignored;
  for (size_t at = 0; at <= files.size();) {
    const size_t comma = std::min(files.find(',', at), files.size());
    const std::string file(trimmed(std::string_view(files).substr(at, comma - at)));
    if (!is_glob(file) && !fs::is_regular_file(file, ignored)) return std::nullopt;
    array += (at == 0 ? "" : ", ") + toml_quoted(file);
    at = comma + 1;
  }
  return '[' + array + ']';
}

// ${env:HOME}/x.md of $HOME/x.md, as a shell would read it; nothing if it would read no variable.
std::optional<std::string> with_variable(const std::string& file) {
  const auto is_name = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c));
  };
  const size_t begin = file.find('$') + 1;
  const auto end =
      std::find_if_not(file.begin() + static_cast<ptrdiff_t>(begin), file.end(), is_name);
  const std::string name(file.begin() + static_cast<ptrdiff_t>(begin), end);
  if (begin == 0 || name.empty() || (name[0] >= '0' && name[0] <= '9')) return std::nullopt;
  return file.substr(0, begin) + "{env:" + name + '}' + std::string(end, file.end());
}

// "../b/data/x.txt" of "data/x.txt" in the recipe ../b/mine.toml, if that is there.
std::optional<std::string> beside_recipe(const fs::path& file, const SourceSpan& where) {
  if (!where || where.file->kind != SourceFile::Kind::file || file.is_absolute())
    return std::nullopt;
  const fs::path folder = fs::path(where.file->name).parent_path();
  std::error_code ignored;
  if (folder.empty() || !fs::exists(folder / file, ignored)) return std::nullopt;
  return (folder / file).lexically_normal().string();
}

// A recipe is no data, and often named like them.
bool may_be_meant(const fs::path& entry, bool is_folder) {
  std::error_code ignored;
  return is_folder ? fs::is_directory(entry, ignored)
                   : fs::is_regular_file(entry, ignored) && entry.extension() != ".toml";
}

// The file or folder below `folder` whose name is most like this one. Extensions do not count,
// except among those that differ in nothing else: "a.txt" is not like "b.txt".
std::optional<fs::path> similar_entry(const fs::path& folder, const fs::path& name,
                                      bool is_folder) {
  constexpr size_t kMostSeen = 10'000;
  std::map<std::string, std::set<std::string>> names;  // by stem
  std::error_code ignored;
  fs::directory_iterator entry(folder.empty() ? "." : folder, ignored);
  for (size_t seen = 0; entry != fs::end(entry) && seen < kMostSeen; ++seen) {
    if (may_be_meant(entry->path(), is_folder))
      names[entry->path().stem()].insert(entry->path().filename());
    entry.increment(ignored);
  }
  std::vector<std::string> stems;
  for (const auto& [stem, all] : names) stems.push_back(stem);
  const auto stem = nearest(name.stem().native(), stems);
  if (!stem) return std::nullopt;
  const std::string with_extension = *stem + name.extension().native();
  return names[*stem].contains(with_extension) ? with_extension : *names[*stem].begin();
}

// "data/shakespeare.txt" of "dat/shakespear.txt", if that is there.
std::optional<std::string> similar_path(const fs::path& file) {
  fs::path path;
  for (auto name = file.begin(); name != file.end(); ++name) {
    const bool is_folder = std::next(name) != file.end();
    const auto found = may_be_meant(path / *name, is_folder)
                           ? std::optional(*name)
                           : similar_entry(path, *name, is_folder);
    if (!found) return std::nullopt;
    path /= *found;
  }
  return path.string();
}

}  // namespace

std::string advice_on_file(const fs::path& file, const SourceSpan& where) {
  if (const auto beside = beside_recipe(file, where))
    return "paths are relative to the working directory: write \"" + *beside + '"';
  if (const auto command = command_to_get(file.string())) return "get it: " + *command;
  if (file.string().find("://") != std::string::npos) return kDownloadFirst;
  if (file.string().starts_with("~/")) return "write ${env:HOME}" + file.string().substr(1);
  if (const auto variable = with_variable(file.string())) return "write " + *variable;
  if (file.string().find(',') != std::string::npos)
    if (const auto array = as_array(file.string())) return "write " + *array;
  const auto similar = is_glob(file.string()) ? std::nullopt : similar_path(file);
  if (similar) return "did you mean \"" + *similar + "\"?";
  if (file.is_absolute()) return "give the path of a file that exists";
  std::error_code ignored;
  return "paths are relative to the working directory, " + fs::current_path(ignored).string();
}

std::string advice_on_pattern(const std::string& pattern, const SourceSpan& where) {
  std::error_code ignored;
  if (!fs::is_regular_file(pattern, ignored)) return advice_on_file(pattern, where);
  return "a file has exactly this name: write '" + as_pattern(pattern) + "'";
}

}  // namespace exprun
