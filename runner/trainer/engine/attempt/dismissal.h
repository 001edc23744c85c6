// What rank 0 tells the others when it does not train.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/exit_code.h"
#include "dist/rendezvous.h"

namespace exprun {

// With what exit code they end, and the failure that is the cause, if there was one: it goes into
// the files in which torchrun looks for that.
struct Dismissal {
  ExitCode code = ExitCode::done;
  std::string why;
};

// As rank 0, when it does not train: returns when all others know. Throws Error when they do not
// come in time.
void dismiss(Rendezvous& rendezvous, const Dismissal& dismissal);

// As rank 0, when it would have trained: those who have come know it then, and those of its own
// machine; others may still be on their way.
void call_off(Rendezvous& rendezvous, const Dismissal& dismissal);

// As rank 0, when a rank cannot take part: throws Error that says why, and so do the others.
[[noreturn]] void refuse(Rendezvous& rendezvous, const std::string& problem);

// On a rank above 0: the dismissal that rank 0's word is, if it is one.
std::optional<Dismissal> dismissal_in(const nlohmann::json& word);

// Says that this rank has heard it, and to its launcher that it is not to be restarted. Returns
// the exit code.
ExitCode leave(Rendezvous& rendezvous, const Dismissal& dismissal);

}  // namespace exprun
