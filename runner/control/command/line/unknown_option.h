// What is meant by an option that a command does not have.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace exprun {

// "; did you mean '--quick'?" for the word "--quik": an option, a subcommand, or a change of a key.
// Empty if nothing is near. `next`: the word behind it, or empty; `usage` is what stands after
// "exprun".
std::string advice_on_option(const std::string& word, const std::string& next,
                             const std::string& command, const std::string& usage,
                             const std::vector<std::string>& options);

// "'temperature=0.5'" for the key "temp": a change as `exprun sample` takes it, of the key of
// [evaluation.sample] that is meant, or nearest where no option is nearer. Nothing where none is.
std::optional<std::string> sampling_change(std::string key, const std::string& value,
                                           const std::vector<std::string>& options);

}  // namespace exprun
