#include "control/data/split_sources.h"

#include <set>
#include <utility>

#include "control/data/file_stamp.h"

namespace exprun {
namespace {

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

SplitSources find_split_sources(const Value& train, const Value* validation,
                                const std::string& libtorch) {
  SplitSources sources;
  Diagnostics problems;
  const auto find = [&](const Value& paths, std::vector<Source>& found) {
    try {
      found = find_sources(paths, libtorch);
    } catch (const RecipeError& error) {
      problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  };
  find(train, sources.train);
  if (validation) find(*validation, sources.validation);
  if (!problems.empty()) throw RecipeError(std::move(problems));
  leave_out(sources.train, sources.validation);
  if (sources.train.empty())
    throw RecipeError(train.where, "all files that match are for validation, none to train on",
                      "name other files here or in 'validation'");
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
               "the model is validated on what it is trained on, '" + source.file.string() + "'",
               "val/loss will not show when it only remembers",
               {},
               Severity::warning}};
  return {};
}

}  // namespace exprun
