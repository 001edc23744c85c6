// Whether two machines have the same token shard, told without reading all of it.
#pragma once

#include <string>

#include "text/token_shard.h"

namespace exprun {

// XXH3-128 of the file's size and of 64 stretches of 4 KiB, spread evenly from its first byte to
// its last; a file up to 256 KiB is read whole. Files that differ in few bytes may look the same.
// Throws Error when it cannot be read.
std::string sampled_hash(const TokenShard& shard);

}  // namespace exprun
