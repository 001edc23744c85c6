#include "control/launch/ranks/rank_words.h"

namespace exprun {

void add_option(ChildCommand& command, const std::string& option, const std::string& value) {
  command.words.push_back(option);
  command.words.push_back(value);
}

void add_place(ChildCommand& command, const JoinedRank& place) {
  add_option(command, "--rank", std::to_string(place.rank));
  add_option(command, "--world-size", std::to_string(place.world_size));
  add_option(command, "--local-rank", std::to_string(place.local_rank));
  add_option(command, "--rendezvous", place.address + ":" + std::to_string(place.port));
  add_option(command, "--restarts", std::to_string(place.restarts));
  add_option(command, "--ranks-here", std::to_string(place.ranks_here));
  if (place.store_is_served) command.words.push_back("--rendezvous-served");
  if (!place.restarts_here) command.words.push_back("--joined");
  if (!place.job.empty()) add_option(command, "--job", place.job);
}

JoinedRank behind(JoinedRank first, int ranks) {
  first.rank += ranks;
  first.local_rank += ranks;
  return first;
}

std::vector<char*> argv_of(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return argv;
}

}  // namespace exprun
