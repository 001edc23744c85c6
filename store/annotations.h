// Tags, which are words to find a run by, and notes: what people add to a run.
#pragma once

#include <cstdint>
#include <string>

#include "store/database/connection.h"

namespace exprun {

// Events that say when a tag was added or removed after its run began: their text is the tag. Of
// two stores, the one with the newer event knows whether the run has the tag.
inline constexpr const char* kTagEvent = "tag";
inline constexpr const char* kUntagEvent = "untag";

// Whether the run did not have it before. Inside a write transaction.
bool insert_tag(Connection& connection, int64_t run, const std::string& name);

}  // namespace exprun
