#include "control/launch/ranks/following.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/diagnostic.h"
#include "control/launch/end_state.h"
#include "control/launch/process/child_group.h"
#include "control/launch/ranks/allowed_restarts.h"
#include "control/launch/ranks/rank_words.h"
#include "control/launch/trainer_program.h"

namespace exprun {
namespace {

// Where rank 0 is started elsewhere, and speaks there: only it says on what device they train.
ChildCommand follower(const JoinedRank& joined, const OwnHash& recipe, LogLevel level) {
  ChildCommand command{
      {able_trainer_program().string(), "--follow"}, trainer_environment(), {}, {}, {}};
  add_place(command, joined);
  if (recipe) add_option(command, "--recipe-hash", *recipe);
  command.words.push_back(level == LogLevel::debug ? "--verbose" : "--quiet");
  return command;
}

// Of one machine: its first rank says what rank 0 allows.
std::vector<ChildCommand> followers(const JoinedRank& joined, const OwnHash& recipe, LogLevel level,
                                    const AllowedRestarts& allowed) {
  std::vector<ChildCommand> commands;
  for (int rank = 0; rank < joined.ranks_here; ++rank)
    commands.push_back(follower(behind(joined, rank), recipe, level));
  add_option(commands[0], "--restarts-fd", std::to_string(allowed.fd()));
  commands[0].kept_fds.push_back(allowed.fd());
  return commands;
}

// A rank that fails has said why; one that a signal ends cannot.
void show_death(const JoinedRank& first, const GroupEnd& end) {
  if (end.end.signal && !end.was_told_to_stop)
    log(LogLevel::error, "rank " + std::to_string(behind(first, static_cast<int>(end.child)).rank) +
                             ": " + signal_message(end.end));
}

}  // namespace

void follow(const JoinedRank& joined, const OwnHash& recipe, LogLevel level) {
  ChildCommand command = follower(joined, recipe, level);
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 0);
  const std::vector<char*> argv = argv_of(command.words);
  ::execv(argv[0], argv.data());
  throw Error("launch: cannot start " + command.words[0] + ": " + std::strerror(errno));
}

int follow_with_all(JoinedRank joined, const OwnHash& recipe, LogLevel level) {
  log_info("launch: ranks " + std::to_string(joined.rank) + " to " +
           std::to_string(joined.rank + joined.ranks_here - 1) + " of " +
           std::to_string(joined.world_size) + "; waiting for rank 0 at " + joined.address + ":" +
           std::to_string(joined.port));
  const ForwardedSignals signals;
  for (AllowedRestarts allowed;; allowed.forget()) {
    const GroupEnd end = run_children(followers(joined, recipe, level, allowed), signals);
    show_death(joined, end);
    const auto restarts = allowed.heard();
    if (!restarts || restarts->so_far >= restarts->most || end.was_told_to_stop ||
        !deserves_restart(end.end))
      return exit_status(end.end);
    joined.restarts = restarts->so_far + 1;
    log_warning("launch: restart " + std::to_string(joined.restarts) + " of " +
                std::to_string(restarts->most) + " of all ranks");
  }
}

}  // namespace exprun
