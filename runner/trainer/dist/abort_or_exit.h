// The end of a backend that may not end: a driver or a network that hangs must not hold this rank.
#pragma once

#include <functional>
#include <string>

namespace exprun {

// Asks the backend to drop what it has under way; what it throws is of no more interest. If it has
// not returned within five seconds, neither would anything behind it: says so, with the trouble
// that this was for, and ends the process at once with ExitCode::lost_ranks.
void abort_or_exit(const std::string& trouble, std::function<void()> abort);

}  // namespace exprun
