// The trainers of one attempt: one process a rank.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/listening_socket.h"
#include "base/log.h"
#include "control/launch/process/child.h"
#include "control/launch/ranks/joined_rank.h"
#include "recipe/resolved.h"

namespace exprun {

// How many ranks a recipe wants on this machine. "auto" is one, where nobody has made it one a GPU.
int world_size(const ResolvedRecipe& resolved);

// The same recipe for so many ranks, whatever it and its overrides say.
RecipeText with_world_size(RecipeText text, int ranks);

// The ranks of a run that has no others; they meet at the loopback.
JoinedRank ranks_of_one_machine(int world_size);

// Open since the command began, in the first life of the ranks. Throws Error.
ListeningSocket meeting_point_of(const JoinedRank& rank_0);

// The commands of rank 0 and of the ranks on its machine, made from the one of a run with a single
// rank. Rank 0 serves the rendezvous at the socket, which must stay open until it has started; the
// others get everything there and write what they say to `log` of their rank.
std::vector<ChildCommand> rank_commands(const ChildCommand& single, const JoinedRank& ranks,
                                        const ListeningSocket& rendezvous,
                                        const std::function<std::filesystem::path(int rank)>& log);

// The command of rank 0 where another launcher starts all ranks and serves their rendezvous.
ChildCommand joined_command(ChildCommand single, const JoinedRank& joined);

// The hash of the recipe that a rank above 0 was started with, to be compared with rank 0's;
// nothing where its command names none.
using OwnHash = std::optional<std::string>;

// This process becomes the trainer of a rank above 0. Throws Error when it cannot.
[[noreturn]] void follow(const JoinedRank& joined, const OwnHash& recipe, LogLevel level);

// The ranks of a machine without rank 0, to their end; restarted when those of rank 0's machine
// are, as often as rank 0's recipe says. Returns the exit code. Throws Error.
int follow_with_all(JoinedRank joined, const OwnHash& recipe, LogLevel level);

// As rank 0, when it does not train: the others, who wait for it, end with this exit code, if they
// come within 5 s. `why`: of a failure, for the files in which torchrun looks for it. Never throws.
void dismiss_others(const JoinedRank& joined, int exit_code, const std::string& why);

// The same if SIGUSR2, SIGTERM or SIGINT ends this process before its trainer has been started: it
// becomes the one that dismisses them, and ends with the signal's exit code.
void dismiss_others_when_stopped(const JoinedRank& joined);

// From now on these signals do what they did before: a trainer takes them, and tells the others, or
// one that dismisses them is under way.
void leave_signals_to_trainer();

}  // namespace exprun
