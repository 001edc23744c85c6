// What the ranks of a roll call say for themselves, at the rendezvous.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace c10d {
class Store;
}

namespace exprun {

// What a rank that lives answers: that it waits in an exchange, that it has not come to it, or why
// it failed.
namespace answer {
inline constexpr const char* kWaits = "waits";
inline constexpr const char* kWorks = "works";
inline constexpr const char* kReason = "reason ";  // and the reason
}  // namespace answer

struct Answers {
  std::vector<int> answered, silent, working;
  std::string reason;  // of the first rank that has one, with its number

  // Whether nothing is left to wait for.
  bool settle_it() const;

  // Who is the cause, as RollCall::cause says it.
  std::string sentence() const;
};

void answer_for(c10d::Store& store, int rank, const std::string& text);
Answers answers_so_far(c10d::Store& store, int world_size);

}  // namespace exprun
