#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>

#include "support/temporary_folder.h"

namespace {

// Tests neither take what is in ~/.cache/exprun nor leave anything there.
struct PrivateCache {
  PrivateCache() { ::setenv("XDG_CACHE_HOME", folder.path().c_str(), /*overwrite=*/1); }

  exprun::TemporaryFolder folder;
};

// Before main, and so before any test and any thread.
const PrivateCache private_cache;

}  // namespace
