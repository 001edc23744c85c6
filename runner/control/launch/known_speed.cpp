#include "control/launch/known_speed.h"

#include <algorithm>
#include <map>

#include "base/machine/network.h"
#include "recipe/quantities.h"

namespace exprun {
namespace {

using Values = std::map<std::string, std::string>;

const std::string kAuto = "\"auto\"";

bool changes_speed(const std::string& path) {
  for (const char* table : {"model.", "batch.", "precision.", "parallelism."})
    if (path.starts_with(table)) return true;
  return path == "run.device" || path == "run.threads" ||
         (path.starts_with("optimizer.") && path.ends_with("type"));
}

Values values_of(const ResolvedRecipe& recipe) {
  Values values;
  for (auto& [path, text] : recipe.leaves(false))
    if (changes_speed(path)) values.emplace(path, text);
  return values;
}

Values values_of(const std::vector<ParameterRow>& parameters) {
  Values values;
  for (const ParameterRow& parameter : parameters)
    if (changes_speed(parameter.path)) values.emplace(parameter.path, parameter.toml);
  return values;
}

// What only data told is "auto" on one side at most.
bool same_speed(const Values& a, const Values& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first &&
                  (x.second == y.second || x.second == kAuto || y.second == kAuto);
         });
}

std::optional<double> median_speed(const Store& store, int64_t run) {
  for (const SeriesRow& series : store.series(run)) {
    if (series.name != "tokens_per_s") continue;
    std::vector<double> values;
    for (const MetricRow& row : store.metrics(series.id)) values.push_back(row.value);
    if (values.empty()) return std::nullopt;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }
  return std::nullopt;
}

// Of a run on this host that is as fast as what is wanted.
std::optional<KnownSpeed> speed_in(const Store& store, const RunRow& run, const Values& wanted) {
  static const std::string kHost = host_name();
  if (run.host != kHost || !same_speed(wanted, values_of(store.parameters(run.id))))
    return std::nullopt;
  const auto speed = median_speed(store, run.id);
  if (!speed) return std::nullopt;
  return KnownSpeed{*speed, run.folder, {}};
}

}  // namespace

std::optional<KnownSpeed> known_speed(const Store& store, const ResolvedRecipe& recipe) {
  // A store may have very many; those further back tell little.
  constexpr size_t kMostRead = 200, kMostCompared = 16;
  const Values wanted = values_of(recipe);
  const auto tokens = static_cast<double>(batch_tokens(recipe.root()).value_or(0));
  const int64_t steps = run_steps(recipe.root(), {}).value_or(0);
  std::optional<KnownSpeed> fastest;
  std::vector<RunRow> runs = store.runs();
  if (runs.size() > kMostRead) runs.resize(kMostRead);
  size_t compared = 0;
  std::optional<double> other_seconds;  // the least a step: one of them may have waited
  for (const RunRow& run : runs) {
    auto speed = speed_in(store, run, wanted);
    if (speed && ++compared > kMostCompared) break;
    if (!speed) continue;
    // What a start costs is not to be multiplied.
    if (run.state == RunState::finished && run.attempt == 1 && 2 * run.last_step >= steps) {
      const double training =
          static_cast<double>(run.last_step) * tokens / speed->tokens_per_second;
      const double other = std::max(0.0, run.seconds - training) /
                           static_cast<double>(std::max<int64_t>(1, run.last_step));
      other_seconds = std::min(other, other_seconds.value_or(other));
    }
    if (!fastest || speed->tokens_per_second > fastest->tokens_per_second)
      fastest = std::move(speed);
  }
  if (fastest && other_seconds)
    fastest->other_seconds = *other_seconds * static_cast<double>(steps);
  return fastest;
}

std::string speed_key(const ResolvedRecipe& recipe) {
  std::string key;
  for (const std::string& change : recipe.overrides()) {
    const size_t sign = change.find_first_not_of("+~");
    const std::string path = change.substr(sign, change.find('=') - sign);
    const bool is_table = path.find('.') == path.npos;
    if (is_table || changes_speed(path)) key += change + '\n';
  }
  return key;
}

}  // namespace exprun
