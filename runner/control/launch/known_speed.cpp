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

bool interrupts_training(const std::string& path) {
  return path.starts_with("evaluation.") || path.starts_with("checkpoint.");
}

struct Keys {
  Values of_speed, of_interruptions;

  void add(const std::string& path, const std::string& toml) {
    if (changes_speed(path)) of_speed.emplace(path, toml);
    if (interrupts_training(path)) of_interruptions.emplace(path, toml);
  }
};

Keys keys_of(const ResolvedRecipe& recipe) {
  Keys keys;
  for (const auto& [path, toml] : recipe.leaves(false)) keys.add(path, toml);
  return keys;
}

Keys keys_of(const std::vector<ParameterRow>& parameters) {
  Keys keys;
  for (const ParameterRow& parameter : parameters) keys.add(parameter.path, parameter.toml);
  return keys;
}

// What only data told is "auto" on one side at most.
bool same(const Values& a, const Values& b) {
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

// What its steps took beside their computation, of a run that trained to its end in one attempt.
std::optional<double> other_seconds_a_step(const RunRow& run, double tokens,
                                           double tokens_per_second) {
  if (run.state != RunState::finished || run.attempt != 1) return std::nullopt;
  const auto steps = static_cast<double>(std::max<int64_t>(1, run.last_step));
  return std::max(0.0, run.seconds / steps - tokens / tokens_per_second);
}

}  // namespace

std::optional<KnownSpeed> known_speed(const Store& store, const ResolvedRecipe& recipe,
                                      std::optional<int64_t> steps) {
  // A store may have very many; those further back tell little.
  constexpr size_t kMostRead = 200, kMostCompared = 16;
  static const std::string kHost = host_name();
  const Keys wanted = keys_of(recipe);
  const auto tokens = static_cast<double>(batch_tokens(recipe.root()).value_or(0));
  std::optional<KnownSpeed> fastest;
  std::vector<RunRow> runs = store.runs();
  if (runs.size() > kMostRead) runs.resize(kMostRead);
  size_t compared = 0;
  std::optional<double> least;  // one of them may have waited
  for (const RunRow& run : runs) {
    if (run.host != kHost) continue;
    const Keys keys = keys_of(store.parameters(run.id));
    if (!same(wanted.of_speed, keys.of_speed)) continue;
    const auto speed = median_speed(store, run.id);
    if (!speed) continue;
    if (++compared > kMostCompared) break;
    // What a start costs is not to be multiplied.
    const bool is_alike = same(wanted.of_interruptions, keys.of_interruptions) && steps &&
                          2 * run.last_step >= *steps;
    if (const auto other = other_seconds_a_step(run, tokens, *speed); is_alike && other)
      least = std::min(*other, least.value_or(*other));
    if (!fastest || *speed > fastest->tokens_per_second) fastest = {*speed, run.folder, {}};
  }
  if (fastest) fastest->other_seconds = least;
  return fastest;
}

std::string speed_key(const ResolvedRecipe& recipe) {
  std::string key;
  for (const std::string& change : recipe.overrides()) {
    const size_t sign = change.find_first_not_of("+~");
    const std::string path = change.substr(sign, change.find('=') - sign);
    const bool is_table = path.find('.') == path.npos;
    const bool is_length = path == "run.steps" || path == "run.length";
    if (is_table || is_length || changes_speed(path) || interrupts_training(path))
      key += change + '\n';
  }
  return key;
}

}  // namespace exprun
