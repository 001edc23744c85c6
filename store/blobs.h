// Texts kept once, by their content: recipes and resolved recipes are mostly the same.
#pragma once

#include <cstdint>
#include <string>

#include "store/database/connection.h"

namespace exprun {

// The id of the blob with this content, inserted when new. Inside a write transaction.
int64_t keep_blob(Connection& connection, const std::string& content);

// Attaches a blob to a run; `kind` is "recipe", "resolved", "origin".
void keep_run_blob(Connection& connection, int64_t run, const std::string& kind,
                   const std::string& content);

// Attaches a text to an attempt, unless it is empty; `kind` is "environment", "diff", "libraries",
// "recipe", "resolved", "recipe_hash".
void keep_attempt_blob(Connection& connection, int64_t run, int64_t attempt,
                       const std::string& kind, const std::string& content);

// Empty when the run or attempt has no blob of this kind.
std::string attempt_blob(Connection& connection, int64_t run, int64_t attempt,
                         const std::string& kind);
std::string run_blob(Connection& connection, int64_t run, const std::string& kind);

}  // namespace exprun
