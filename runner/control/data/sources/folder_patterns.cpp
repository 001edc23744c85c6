#include "control/data/sources/folder_patterns.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/files/run_folder.h"
#include "base/strings.h"
#include "control/data/read/records.h"
#include "recipe/schema/schema.h"
#include "recipe/toml/write.h"
#include "text/token_shard.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShards = "token_shards";
constexpr const char* kTextOfTokens = "input.txt";
constexpr std::array<std::string_view, 9> kValidationWords = {
    "val", "vals", "valset", "valid", "validation", "validate", "eval", "evaluation", "owtval"};
constexpr size_t kMostNamed = 4;  // shards
constexpr size_t kMostKinds = 8;
constexpr size_t kMostSeen = 10'000;  // entries of a folder: "/" is one too
constexpr size_t kMostWanted = 16;    // files of one kind: the others are taken to be like them
constexpr size_t kMostOpened = 512;   // of one kind, where fewer are wanted

enum class Content { text, records };

bool holds(const fs::path& file, Content wanted) try {
  const bool is_text = format_of_file(file, "auto") == "text";
  if (is_text != (wanted == Content::text)) return false;
  const auto records = open_records(file, {"auto", "", true, {}});
  Record first;
  if (!is_text) records->next(first);  // what begins like no record is refused with it
  return true;
} catch (const Error&) {  // it begins like something else
  return false;
}

// A recipe that is written there may lie in the folder.
bool holds_working_directory(const fs::path& folder) {
  std::error_code ignored;
  const fs::path here = fs::current_path(ignored);
  const fs::path whole = fs::weakly_canonical(folder, ignored);
  return std::mismatch(whole.begin(), whole.end(), here.begin(), here.end()).first == whole.end();
}

// By which a pattern names files: "*.md", or the name of one without an extension.
std::string kind_of(const fs::path& file) {
  const fs::path extension = file.extension();
  return extension.empty() ? as_pattern(file.filename()) : "*" + as_pattern(extension);
}

fs::path place_of(const fs::path& folder) {
  return folder == "." ? "" : as_pattern(folder.string());
}

// What a folder holds, by kind.
struct Kinds {
  std::map<std::string, size_t> files;
  std::map<std::string, std::set<std::string>> wanted;  // of those that were opened
  std::set<std::string> mixed;                          // of which some are not
};

Kinds kinds_in(const fs::path& folder, Content content) {
  Kinds kinds;
  for (const fs::path& file : files_below(folder, "text")) {
    const std::string kind = kind_of(file);
    const bool is_opened =
        ++kinds.files[kind] <= kMostOpened && kinds.wanted[kind].size() < kMostWanted;
    const bool is_wanted = is_opened && holds(file, content);
    const fs::path name = place_of(folder) / as_pattern(file.lexically_relative(folder).string());
    if (file.extension() == ".toml" || (is_opened && !is_wanted))  // a recipe is no data
      kinds.mixed.insert(kind);
    else if (is_wanted)
      kinds.wanted[kind].insert(name.string());
  }
  return kinds;
}

std::string pattern_of(const std::string& kind, const fs::path& folder) {
  return (place_of(folder) / "**" / kind).string();
}

std::vector<std::string> whole_kinds(const Kinds& kinds, const fs::path& folder) {
  if (kinds.mixed.empty() && !kinds.files.empty() && !holds_working_directory(folder))
    return {(place_of(folder) / "**").string()};
  std::vector<std::pair<size_t, std::string>> readable;
  for (const auto& [kind, number] : kinds.files)
    if (!kinds.mixed.contains(kind)) readable.emplace_back(number, kind);
  std::sort(readable.rbegin(), readable.rend());
  readable.resize(std::min(readable.size(), kMostKinds));
  std::vector<std::string> patterns;
  for (const auto& [number, kind] : readable) patterns.push_back(pattern_of(kind, folder));
  std::sort(patterns.begin(), patterns.end());
  return patterns;
}

// Files beside others of their kind that are not wanted; where they are many the kind, so that
// `exprun check` says of the others what is wrong with them.
std::vector<std::string> single_files(const Kinds& kinds, const fs::path& folder) {
  std::vector<std::string> patterns;
  for (const auto& [kind, names] : kinds.wanted) {
    if (names.size() > kMostNamed)
      patterns.push_back(pattern_of(kind, folder));
    else
      patterns.insert(patterns.end(), names.begin(), names.end());
  }
  std::sort(patterns.begin(), patterns.end());
  return patterns;
}

// A number at the end of the name as "*", unless others would match that, too.
std::string shard_pattern(const fs::path& file, const std::vector<fs::path>& others) {
  const std::string stem = file.stem().string();
  const size_t number = stem.find_last_not_of("0123456789") + 1;
  const std::string name = as_pattern(file.filename().string());
  if (number == stem.size()) return name;
  const std::string pattern = as_pattern(stem.substr(0, number)) + "*.bin";
  const bool is_theirs_too = std::ranges::any_of(others, [&](const fs::path& other) {
    return ::fnmatch(pattern.c_str(), other.filename().c_str(), 0) == 0;
  });
  return is_theirs_too ? name : pattern;
}

std::vector<std::string> shard_patterns(const fs::path& folder, Split split) {
  std::vector<fs::path> files, others;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const fs::path& file = entry.path();
    const std::string stem = file.stem().string();
    if (file.extension() != ".bin" || stem.starts_with('.') || !entry.is_regular_file(ignored))
      continue;
    (is_named_for_validation(file) == (split == Split::validation) ? files : others)
        .push_back(file);
  }
  const fs::path place = as_pattern(folder.string());
  std::set<std::string> patterns;
  for (const fs::path& file : files)
    patterns.insert((place / shard_pattern(file, others)).string());
  if (patterns.size() > kMostNamed && others.empty()) return {(place / "*.bin").string()};
  return {patterns.begin(), patterns.end()};
}

// "write type = "text" and path = "notes/**""; empty where there is no such file either.
std::string as_other_type(const std::string& type, const fs::path& folder, Split split) {
  const auto patterns = folder_patterns(folder, {type, split});
  if (patterns.empty()) return "";
  const bool is_bare = type == kShards && has_bare_tokens(folder);
  const char* const key = split == Split::validation ? "validation"
                          : type == kShards          ? "train"
                                                     : "path";
  return "write type = \"" + type + '"' + (is_bare ? ", format = \"raw_uint16\"" : "") + " and " +
         key + " = " + toml_of_patterns(patterns);
}

// Of a folder that has none of those that are wanted.
std::string what_it_has(const fs::path& folder, const WantedFiles& wanted) {
  const bool validates = wanted.split == Split::validation;
  if (wanted.dataset != kShards) {
    const std::string none =
        wanted.dataset == "instruction" ? "it has no JSON files" : "it has no text files";
    const std::string shards = has_token_shards(folder) || has_bare_tokens(folder)
                                   ? as_other_type(kShards, folder, wanted.split)
                                   : "";
    return shards.empty() ? none : "it has token shards: " + shards;
  }
  if (!shard_patterns(folder, validates ? Split::train : Split::validation).empty())
    return validates ? "it has no token shards for validation: none has \"val\" in its name"
                     : "it has no token shards for training: all have \"val\" in their names";
  const std::string text = as_other_type("text", folder, wanted.split);
  return "it has no token shards (*.bin)" + (text.empty() ? "" : "; for its text " + text);
}

}  // namespace

std::string as_pattern(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

bool is_named_for_validation(const fs::path& shard) {
  const std::string stem = shard.stem().string();
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_letter = [&](char c) { return (c >= 'a' && c <= 'z') || is_upper(c); };
  std::string word;
  for (size_t i = 0; i <= stem.size(); ++i) {
    const bool goes_on = i < stem.size() && is_letter(stem[i]);
    const bool begins_anew = goes_on && is_upper(stem[i]) && i > 0 && !is_upper(stem[i - 1]);
    if (!goes_on || begins_anew) {
      if (std::ranges::find(kValidationWords, lower_case(word)) != kValidationWords.end())
        return true;
      word.clear();
    }
    if (goes_on) word += stem[i];
  }
  return false;
}

bool is_left_out(const fs::path& folder, const std::string& dataset) {
  return is_store(folder) || (dataset != kShards && path_exists(folder / kManifestName));
}

std::vector<fs::path> files_below(const fs::path& folder, const std::string& dataset) {
  std::vector<fs::path> files;
  std::error_code ignored;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         ignored);
  for (size_t seen = 0; entry != fs::end(entry) && seen < kMostSeen; ++seen) {
    const std::string name = entry->path().filename();
    if (name.starts_with('.') || is_left_out(entry->path(), dataset))
      entry.disable_recursion_pending();
    else if (name != kComposedSchemaFile && entry->is_regular_file(ignored))
      files.push_back(entry->path());
    entry.increment(ignored);
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool has_bare_tokens(const fs::path& folder) try {
  for (const char* name : {"train.bin", "val.bin"})
    if (!fs::is_regular_file(folder / name) ||
        inspect_shard(folder / name, ShardFormat::raw_uint16).tokens == 0)
      return false;
  return true;
} catch (const std::runtime_error&) {  // Error, fs::filesystem_error: other files of these names
  return false;
}

bool has_tokens_of_characters(const fs::path& folder) {
  return path_exists(folder / "meta.pkl") && has_bare_tokens(folder);
}

bool has_text_of_tokens(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / kTextOfTokens, ignored) && has_bare_tokens(folder);
}

bool has_token_shards(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) try {
      if (entry.path().extension() == ".bin" && begins_as_shard(entry.path())) return true;
    } catch (const Error&) {  // unreadable: not by what it says
    }
  return false;
}

std::vector<std::string> folder_patterns(const fs::path& folder, const WantedFiles& wanted) {
  if (wanted.dataset == kShards) return shard_patterns(folder, wanted.split);
  if (has_token_shards(folder)) return {};  // what else lies there describes them
  if (wanted.dataset == "text" && has_bare_tokens(folder))
    return has_text_of_tokens(folder)
               ? std::vector<std::string>{(place_of(folder) / kTextOfTokens).string()}
               : std::vector<std::string>();
  const auto contents = wanted.dataset == "text"
                            ? std::vector<Content>{Content::text, Content::records}
                            : std::vector<Content>{Content::records};
  std::vector<Kinds> found;
  for (const Content content : contents) {
    found.push_back(kinds_in(folder, content));
    if (auto patterns = whole_kinds(found.back(), folder); !patterns.empty()) return patterns;
  }
  for (const Kinds& kinds : found)
    if (auto patterns = single_files(kinds, folder); !patterns.empty()) return patterns;
  return {};
}

std::string toml_of_patterns(const std::vector<std::string>& patterns) {
  if (patterns.size() == 1) return toml_quoted(patterns.front());
  std::string array;
  for (const std::string& pattern : patterns)
    array += (array.empty() ? "" : ", ") + toml_quoted(pattern);
  return '[' + array + ']';
}

std::string how_to_name_files_in(const fs::path& folder, const WantedFiles& wanted) {
  const auto patterns = folder_patterns(folder, wanted);
  if (patterns.empty()) return what_it_has(folder, wanted);
  const bool has_tokens_too = wanted.dataset == "text" && wanted.split == Split::train &&
                              has_bare_tokens(folder) && !has_tokens_of_characters(folder);
  return "write " + toml_of_patterns(patterns) +
         (has_tokens_too ? "; for its tokens " + as_other_type(kShards, folder, wanted.split) : "");
}

}  // namespace exprun
