#include "dist/answers.h"

#include <string_view>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace exprun {

namespace {

std::string key_of(int rank) {
  return "answers/" + std::to_string(rank);
}

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
  store.set(key_of(rank), std::vector<uint8_t>(text.begin(), text.end()));
}

Answers answers_so_far(c10d::Store& store, int world_size) {
  Answers answers;
  for (int rank = 0; rank < world_size; ++rank) {
    if (!store.check({key_of(rank)})) {
      answers.silent.push_back(rank);
      continue;
    }
    answers.answered.push_back(rank);
    const auto bytes = store.get(key_of(rank));
    const std::string text(bytes.begin(), bytes.end());
    if (text == answer::kWorks) answers.working.push_back(rank);
    if (text.starts_with(answer::kReason) && answers.reason.empty())
      answers.reason = "rank " + std::to_string(rank) + ": " +
                       text.substr(std::string_view(answer::kReason).size());
  }
  return answers;
}

}  // namespace exprun
