#include "control/report/series_advice.h"

#include <algorithm>

#include "base/strings.h"
#include "base/suggest.h"

namespace exprun {
namespace {

constexpr size_t kMostNamed = 8;

bool is_loss(const std::string& series) {
  return series.ends_with("/loss");
}

std::string losses_first(std::vector<std::string> names) {
  std::ranges::stable_partition(names, is_loss);
  if (names.size() > kMostNamed) {
    const size_t others = names.size() - kMostNamed;
    names.resize(kMostNamed);
    names.push_back(std::to_string(others) + " more");
  }
  return listed(names);
}

}  // namespace

std::string series_meant(const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::string> meant;
  for (const std::string& other : known)
    if (const std::string quoted = "'" + other + "'";
        other.ends_with('/' + name) && std::ranges::find(meant, quoted) == meant.end())
      meant.push_back(quoted);
  if (!meant.empty()) return alternatives(meant);
  const auto near = nearest(name, known);
  return near ? "'" + *near + "'" : "";
}

std::string advice_on_series(const std::string& name, const std::vector<std::string>& known) {
  if (const std::string meant = series_meant(name, known); !meant.empty())
    return "did you mean " + meant + "?";
  return known.empty() ? "" : "there are " + losses_first(known);
}

}  // namespace exprun
