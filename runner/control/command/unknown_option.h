// What is meant by an option that a command does not have.
#pragma once

#include <string>
#include <vector>

namespace exprun {

// "; did you mean '--quick'?" for the word "--quik": an option, a subcommand, or a change of a key.
// Empty if nothing is near. `usage` is what stands after "exprun".
std::string advice_on_option(const std::string& word, const std::string& command,
                             const std::string& usage, const std::vector<std::string>& options);

}  // namespace exprun
