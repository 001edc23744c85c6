// The commands of `exprun data`, a file each.
#pragma once

#include <filesystem>
#include <string>

#include "control/command/command.h"
#include "text/prepared_data.h"

namespace exprun {

std::span<const Command> data_commands();

int run_data_prepare(const Words& words, const Globals& globals);
int run_data_fetch(const Words& words, const Globals& globals);
int run_data_info(const Words& words, const Globals& globals);
int run_data_verify(const Words& words, const Globals& globals);
int run_data_head(const Words& words, const Globals& globals);

// A prepared set in lines for people.

// "  train       1,000 tokens in 2 shards", and validation.
std::string split_lines(const PreparedData& data);

// Tokenizer, splits, and what it was made from. Throws Error that names the description where that
// says it in no known way.
std::string set_lines(const PreparedData& data, const std::filesystem::path& description);

}  // namespace exprun
