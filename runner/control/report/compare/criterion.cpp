#include "control/report/compare/criterion.h"

#include <utility>

namespace exprun {

Criterion best_value_of(std::string series, bool maximize) {
  return {std::move(series), maximize ? Goal::highest : Goal::lowest,
          maximize ? ValueName::Which::max : ValueName::Which::min};
}

Goal goal_of(std::string_view series, const Criterion& recorded) {
  if (series == recorded.series) return recorded.goal;
  const std::string_view last = series.substr(series.rfind('/') + 1);
  const auto has = [&](std::string_view word) { return last.find(word) != last.npos; };
  for (const char* word : {"acc", "score", "f1", "bleu", "mfu", "per_second", "reward"})
    if (has(word)) return Goal::highest;
  if (last.ends_with("per_s")) return Goal::highest;
  for (const char* word : {"loss", "perplexity", "ppl", "bits_per", "error"})
    if (has(word)) return Goal::lowest;
  return Goal::none;
}

}  // namespace exprun
