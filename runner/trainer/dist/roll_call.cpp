#include "dist/roll_call.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "dist/within.h"

namespace exprun {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience{2000};

std::string answer_key(int rank) {
  return "answers/" + std::to_string(rank);
}

constexpr const char* kLostToo = "";  // the answer of a rank that others have failed

void answer(c10d::Store& store, int rank, const std::string& text) {
  store.set(answer_key(rank), std::vector<uint8_t>(text.begin(), text.end()));
}

std::optional<std::string> answer_of(c10d::Store& store, int rank, Clock::time_point late) {
  try {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(late - Clock::now());
    store.wait({answer_key(rank)}, std::max(left, std::chrono::milliseconds(10)));
    const auto bytes = store.get(answer_key(rank));
    return std::string(bytes.begin(), bytes.end());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

struct Answers {
  std::vector<int> silent;
  std::string reason;  // of the first rank that has one, with its number
};

// If not even this rank's own word comes back, it is rank 0 that is silent, who serves the store.
Answers ask_all(c10d::Store& store, const RankPlace& place) {
  const auto late = Clock::now() + kPatience;
  Answers answers;
  try {
    answer(store, place.rank, kLostToo);
  } catch (const std::exception&) {
    return {{0}, ""};
  }
  for (int rank = 0; rank < place.world_size; ++rank) {
    const auto text = answer_of(store, rank, late);
    if (!text && rank == place.rank) return {{0}, ""};
    if (!text)
      answers.silent.push_back(rank);
    else if (*text != kLostToo && answers.reason.empty())
      answers.reason = "rank " + std::to_string(rank) + ": " + *text;
  }
  return answers;
}

std::string sentence(const Answers& answers) {
  const std::vector<int>& silent = answers.silent;
  if (!answers.reason.empty()) return "; " + answers.reason;
  if (silent.empty()) return "";
  std::string names = silent.size() == 1 ? "; rank " : "; ranks ";
  for (size_t i = 0; i < silent.size(); ++i) names += (i ? ", " : "") + std::to_string(silent[i]);
  return names + (silent.size() == 1 ? " does not answer: it hangs, or is gone"
                                     : " do not answer: they hang, or are gone");
}

}  // namespace

std::string roll_call(const c10::intrusive_ptr<c10d::Store>& store, const RankPlace& place) {
  const auto answers = within(kPatience + std::chrono::seconds(1),
                              [store, place] { return ask_all(*store, place); });
  return sentence(answers.value_or(Answers{{0}, ""}));
}

void say_why(const Rendezvous& rendezvous, const std::string& reason) {
  within(std::chrono::seconds(1),
         [store = rendezvous.store(), rank = rendezvous.place().rank, reason] {
           try {
             answer(*store, rank, reason);
             return true;
           } catch (const std::exception&) {
             return false;
           }
         });
}

}  // namespace exprun
