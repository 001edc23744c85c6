// The words that tell a trainer its place among the ranks (trainer/options.cpp reads them).
#pragma once

#include <string>
#include <vector>

#include "control/launch/process/child.h"
#include "control/launch/ranks/joined_rank.h"

namespace exprun {

void add_option(ChildCommand& command, const std::string& option, const std::string& value);

void add_place(ChildCommand& command, const JoinedRank& place);

// The rank so many behind the first one of a machine.
JoinedRank behind(JoinedRank first, int ranks);

// For execv; as long-lived as the words.
std::vector<char*> argv_of(std::vector<std::string>& words);

}  // namespace exprun
