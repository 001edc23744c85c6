// A word of a command line that someone is to type, or has typed.
#pragma once

#include <string>

namespace exprun {

// As a shell reads it back: "a b" as "'a b'", and as it is where it means nothing to a shell.
std::string shell_quoted(const std::string& word);

}  // namespace exprun
