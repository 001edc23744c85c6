// The trainers of one attempt: one process a rank.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/machine/network.h"
#include "control/launch/process/child_process.h"
#include "control/launch/ranks/external_launcher.h"
#include "recipe/resolved.h"

namespace exprun {

// How many ranks a recipe wants on this machine. "auto" is one, where nobody has made it one a GPU.
int world_size(const ResolvedRecipe& resolved);

// The same recipe for so many ranks, whatever it and its overrides say.
RecipeText with_world_size(RecipeText text, int ranks);

// The ranks of a run that has no others; they meet at the loopback.
LocalRanks ranks_of_one_machine(int world_size);

// Open since the command began, in the first attempt of the ranks. Throws Error.
ListeningSocket rendezvous_point_of(const LocalRanks& rank_0);

// The commands of rank 0 and of the ranks on its machine, made from the one of a run with a single
// rank. Rank 0 serves the rendezvous at the socket, which must stay open until it has started; the
// others get everything there and write what they say to `log` of their rank.
std::vector<ChildCommand> rank_commands(const ChildCommand& single, const LocalRanks& ranks,
                                        const ListeningSocket& rendezvous,
                                        const std::function<std::filesystem::path(int rank)>& log);

// The words that tell a trainer its place among the ranks (trainer/options.cpp reads them).

void add_option(ChildCommand& command, const std::string& option, const std::string& value);

void add_place(ChildCommand& command, const LocalRanks& place);

// The rank so many after the first one of a machine.
LocalRanks behind(LocalRanks first, int ranks);

// For execv; as long-lived as the words.
std::vector<char*> argv_of(std::vector<std::string>& words);

}  // namespace exprun
