#include "dist/answers.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/json_text.h"

namespace exprun {

namespace {

using nlohmann::json;

// All in one value, a line each: hundreds of ranks ask for them at once, and the store serves one
// after another.
constexpr const char* kAnswers = "answers-to-roll-call";

std::string listed(const std::vector<int>& ranks, const char* of_one, const char* of_several) {
  std::string text = ranks.size() == 1 ? "; rank " : "; ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text + (ranks.size() == 1 ? of_one : of_several);
}

}  // namespace

bool Answers::settle_it() const {
  return silent.empty() && (working.empty() || !reason.empty());
}

std::string Answers::sentence() const {
  if (!reason.empty()) return "; " + reason;
  if (!silent.empty())
    return listed(silent, " does not answer: it hangs, or is gone",
                  " do not answer: they hang, or are gone");
  if (working.empty()) return "";
  return listed(working, " lives, but has not come to the exchange",
                " live, but have not come to the exchange");
}

void answer_for(c10d::Store& store, int rank, const std::string& text) {
  const std::string line = json_text(json{rank, text}, -1, NotUtf8::replaced) + "\n";
  store.append(kAnswers, {line.begin(), line.end()});
}

Answers answers_so_far(c10d::Store& store, int world_size) {
  std::map<int, std::string> last;
  if (store.check({kAnswers})) {
    const auto bytes = store.get(kAnswers);
    std::istringstream lines(std::string(bytes.begin(), bytes.end()));
    for (std::string line; std::getline(lines, line);) {
      const json answer = parse_json<json>(line);
      last[answer.at(0)] = answer.at(1);
    }
  }
  Answers answers;
  for (int rank = 0; rank < world_size; ++rank) {
    const auto found = last.find(rank);
    (found == last.end() ? answers.silent : answers.answered).push_back(rank);
    if (found == last.end()) continue;
    const std::string& text = found->second;
    if (text == answer::kWorks) answers.working.push_back(rank);
    if (text.starts_with(answer::kReason) && answers.reason.empty())
      answers.reason = "rank " + std::to_string(rank) + ": " +
                       text.substr(std::string_view(answer::kReason).size());
  }
  return answers;
}

}  // namespace exprun
