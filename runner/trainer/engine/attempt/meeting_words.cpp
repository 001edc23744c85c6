#include "engine/attempt/meeting_words.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"

namespace exprun {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookForHearing{10};

}  // namespace

namespace meeting_words {

std::string reply_key(int rank) {
  return "reply/" + std::to_string(rank);
}

std::string heard_key(int rank) {
  return "heard/" + std::to_string(rank);
}

void say(Rendezvous& rendezvous, const char* key, json message) {
  message["job"] = rendezvous.place().job;
  rendezvous.set(key, json_text(message, -1, NotUtf8::replaced));
}

json heard(Rendezvous& rendezvous, const char* key) {
  return parse_json<json>(rendezvous.get(key));
}

bool begins(const json& verdict) {
  return verdict.contains("device");
}

}  // namespace meeting_words

std::vector<int> ranks_from(int first, const Rendezvous& rendezvous) {
  std::vector<int> ranks;
  for (int rank = first; rank < rendezvous.place().world_size; ++rank) ranks.push_back(rank);
  return ranks;
}

void wait_until_heard(Rendezvous& rendezvous, const std::vector<int>& ranks,
                      std::chrono::milliseconds patience) {
  const auto late = Clock::now() + patience;
  for (const int rank : ranks)
    while (!rendezvous.has(meeting_words::heard_key(rank))) {
      if (Clock::now() > late)
        throw Error("dist: rank " + std::to_string(rank) + " has not come within " +
                    std::to_string(patience.count() / 1000) + " s");
      std::this_thread::sleep_for(kLookForHearing);
    }
}

void wait_for_who_hears(Rendezvous& rendezvous, const std::vector<int>& ranks,
                        std::chrono::milliseconds patience) {
  try {
    wait_until_heard(rendezvous, ranks, patience);
  } catch (const Error&) {
    log(LogLevel::debug, "a rank has not heard that none begins");
  }
}

}  // namespace exprun
