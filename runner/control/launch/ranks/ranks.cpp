#include "control/launch/ranks/ranks.h"

#include <algorithm>

namespace exprun {

void add_option(ChildCommand& command, const std::string& option, const std::string& value) {
  command.words.push_back(option);
  command.words.push_back(value);
}

void add_place(ChildCommand& command, const LocalRanks& place) {
  add_option(command, "--rank", std::to_string(place.rank));
  add_option(command, "--world-size", std::to_string(place.world_size));
  add_option(command, "--local-rank", std::to_string(place.local_rank));
  add_option(command, "--rendezvous", place.address + ":" + std::to_string(place.port));
  add_option(command, "--restarts", std::to_string(place.restarts));
  add_option(command, "--ranks-here", std::to_string(place.ranks_here));
  if (place.store_is_served) command.words.push_back("--rendezvous-served");
  if (!place.restarts_here) command.words.push_back("--external-launcher");
  if (!place.job.empty()) add_option(command, "--job", place.job);
}

LocalRanks behind(LocalRanks first, int ranks) {
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

namespace {

// Beside rank 0, on its machine.
ChildCommand neighbour(const ChildCommand& single, const std::filesystem::path& log) {
  ChildCommand command;
  command.words = {single.words[0], "--follow"};
  for (const char* level : {"--quiet", "--verbose"})
    if (std::count(single.words.begin(), single.words.end(), level)) command.words.push_back(level);
  command.environment = single.environment;
  command.holds_stop_signals = single.holds_stop_signals;
  command.log = log;
  return command;
}

}  // namespace

int world_size(const ResolvedRecipe& resolved) {
  const auto* size = resolved.find("parallelism.world_size")->as<int64_t>();
  return size ? static_cast<int>(*size) : 1;
}

// The number stands last, so that it counts, whatever stands before it: a whole table, ~world_size.
RecipeText with_world_size(RecipeText text, int ranks) {
  const std::string key = "parallelism.world_size=";
  // What was put there for an earlier attempt goes.
  for (size_t i = text.overrides.size(); i-- > 0;)
    if (text.overrides[i].starts_with(key)) text.erase_override(i);
  text.find_out(key + std::to_string(ranks));
  return text;
}

LocalRanks ranks_of_one_machine(int world_size) {
  LocalRanks all;
  all.world_size = all.ranks_here = world_size;
  all.restarts_here = true;
  all.address = "127.0.0.1";
  return all;
}

ListeningSocket rendezvous_point_of(const LocalRanks& rank_0) {
  if (rank_0.rendezvous_point && rank_0.rendezvous_point->fd)
    return std::move(*rank_0.rendezvous_point);
  return listen_on_all_interfaces(rank_0.port);
}

std::vector<ChildCommand> rank_commands(const ChildCommand& single, const LocalRanks& ranks,
                                        const ListeningSocket& rendezvous,
                                        const std::function<std::filesystem::path(int)>& log) {
  std::vector<ChildCommand> commands{single};
  commands[0].kept_fds.push_back(rendezvous.fd.get());
  add_option(commands[0], "--rendezvous-fd", std::to_string(rendezvous.fd.get()));
  for (int rank = 1; rank < ranks.ranks_here; ++rank)
    commands.push_back(neighbour(single, log(rank)));
  LocalRanks at = ranks;
  at.port = rendezvous.port;
  for (int rank = 0; rank < ranks.ranks_here; ++rank)
    add_place(commands[static_cast<size_t>(rank)], behind(at, rank));
  return commands;
}

}  // namespace exprun
