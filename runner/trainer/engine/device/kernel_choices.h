// Which kernel computes what in this process, where several can: "forward 1024x128x384" ->
// "onednn". The choices are part of a run's state, because bits depend on them: a resume makes the
// same ones. Kernels ask and add, the engine loads and saves.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace exprun::kernel_choices {

// Every kernel takes its reference, without measuring: `[run] deterministic = true`.
void fix();
bool fixed();

// From now on a product without a choice takes its reference too: ranks that have agreed must not
// measure each for itself.
void close();
bool closed();

// Everything, as in a new process: another run may follow in this one.
void forget();

// Of an earlier life of the run; kept over measuring. What is no text is ignored.
void load(const nlohmann::json& choices);

// All choices loaded, found or added so far. What was measured here goes into the machine's cache
// on the way.
nlohmann::json save();

// Of the run, else of the machine's cache (which then is the run's).
std::optional<std::string> find(const std::string& product);

// Measured just now.
void add(const std::string& product, const std::string& kernel);

// Grows with every load, so that a kernel may keep answers until then.
int64_t generation();

}  // namespace exprun::kernel_choices
