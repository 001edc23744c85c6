// The files that a key of a recipe names: a path, a glob or an array of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "control/data/sources/folder_patterns.h"
#include "recipe/value.h"

namespace exprun {

struct Source {
  std::filesystem::path file;
  SourceSpan where;  // of the path or glob that named it
  bool by_glob = false;
};

// Whether it is the system that refuses a file: what is wrong in a file is a mistake.
bool is_lack(const Error& error);

// What an error says, but for its "data: ", at the place that names the file.
Diagnostic problem_at(const SourceSpan& where, const Error& error);

// Adds what `look` throws, as problems at `where` if it has no places of its own.
template <class Look>
void collect_problems(Diagnostics& problems, const Value& where, Look look) try {
  look();
} catch (const RecipeError& error) {
  problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
} catch (const Error& error) {
  problems.push_back(problem_at(where.where, error));
}

// In the order written, the matches of a glob sorted, without those that another entry names: a
// file comes twice only where it is written twice. Throws one RecipeError for everything that is
// missing or is no file, each at its place, with what to do: for a folder how to name the files in
// it that are `wanted`.
std::vector<Source> find_sources(const Value& paths, const std::string& libtorch_folder,
                                 const WantedFiles& wanted = {});

// The one regular file that a path names: no pattern, no standard input. Throws RecipeError.
std::filesystem::path find_file(const Value& path, const std::string& libtorch_folder);

// Files by pattern.

// Whether `pattern` has any of * ? [.
bool is_glob(const std::string& pattern);

// The regular files that match, sorted by name. * ? [] stay within one name and skip hidden
// ones; ** stands for any number of folders, links not followed, without those that are left out
// for a [dataset] of this type. No pattern means the schema that editors read. Throws Error for a
// folder that cannot be read.
std::vector<std::filesystem::path> matching_files(const std::string& pattern,
                                                  const std::string& dataset = "text");

// What stands in a pattern before the names that match all those of `path`: "data/" of
// "data/web/a_*.bin" for "web/a_1.bin". Nothing if they do not match.
std::optional<std::string> start_before(const std::string& pattern, const std::string& path);

// The files of both splits that a recipe names, and those that are in both.
struct SplitSources {
  std::vector<Source> train, validation;
};

// Of a [dataset] of any type. What its `validation` names without a glob is left out of the globs
// of the training split, by whatever name they find it. Throws one RecipeError for all that is
// missing, or if nothing is left to train on.
SplitSources find_split_sources(const Table& dataset, const std::string& libtorch);

// A warning at the first file that is read into both splits.
Diagnostics trained_validation(const SplitSources& sources);

// A warning at the first file that is in the training split twice.
Diagnostics repeated_text(const SplitSources& sources);

}  // namespace exprun
