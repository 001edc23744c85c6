// These tests measure kernels of sizes of their own: they neither take the user's choices from
// ~/.cache/exprun nor leave theirs there.
#include <cstdlib>

#include "support/temporary_folder.h"

namespace {

struct PrivateCache {
  PrivateCache() { ::setenv("XDG_CACHE_HOME", folder.path().c_str(), /*overwrite=*/1); }

  exprun::TemporaryFolder folder;
};

// Before main, and so before any test and any thread.
const PrivateCache private_cache;

}  // namespace
