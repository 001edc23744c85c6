#include "base/suggest.h"

#include <algorithm>
#include <iterator>

namespace exprun {
namespace {

constexpr size_t kFarthest = 3;

// Capitals are no mistake of the letter.
std::string small(std::string_view text) {
  std::string letters(text);
  for (char& c : letters)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return letters;
}

// Optimal string alignment: insertion, deletion, substitution and swap of neighbours.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, row);
  }
  return previous[b.size()];
}

std::string digits_of(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c >= '0' && c <= '9'; });
  return digits;
}

// A longer word for the same: "bfloat16" is "bf16". The only one with its first letter and number.
std::optional<std::string> of_same_number(std::string_view name,
                                          const std::vector<std::string>& candidates) {
  const std::string digits = digits_of(name);
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    if (digits.empty() || candidate[0] != name[0] || digits_of(candidate) != digits) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

}  // namespace

std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t best_distance = kFarthest + 1;
  for (const std::string& candidate : candidates) {
    const size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= best_distance) continue;
    const size_t distance = edit_distance(small(name), small(candidate));
    if (distance >= best_distance || 2 * distance >= longer) continue;
    best = candidate;
    best_distance = distance;
  }
  return best ? best : of_same_number(name, candidates);
}

}  // namespace exprun
