#include "control/launch/ranks.h"

#include <algorithm>

namespace exprun {
namespace {

void add(ChildCommand& command, const std::string& option, const std::string& value) {
  command.words.push_back(option);
  command.words.push_back(value);
}

void place(ChildCommand& command, int rank, int world_size, const ListeningSocket& rendezvous) {
  add(command, "--rank", std::to_string(rank));
  add(command, "--world-size", std::to_string(world_size));
  add(command, "--local-world-size", std::to_string(world_size));
  add(command, "--rendezvous", "127.0.0.1:" + std::to_string(rendezvous.port));
}

ChildCommand follower(const ChildCommand& single, const std::filesystem::path& log) {
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

std::vector<ChildCommand> rank_commands(const ChildCommand& single, int world_size,
                                        const ListeningSocket& rendezvous,
                                        const std::function<std::filesystem::path(int)>& log) {
  std::vector<ChildCommand> commands{single};
  commands[0].kept_fds.push_back(rendezvous.fd.get());
  add(commands[0], "--rendezvous-fd", std::to_string(rendezvous.fd.get()));
  for (int rank = 1; rank < world_size; ++rank) commands.push_back(follower(single, log(rank)));
  for (int rank = 0; rank < world_size; ++rank)
    place(commands[static_cast<size_t>(rank)], rank, world_size, rendezvous);
  return commands;
}

}  // namespace exprun
