// Every test begins with the same random numbers, whichever others have run before it.
#include <ATen/Context.h>

#include "support/doctest_listener.h"

namespace {

struct SeedEachTest : exprun::DoctestListener {
  explicit SeedEachTest(const doctest::ContextOptions&) {}

  void test_case_start(const doctest::TestCaseData&) override { at::manual_seed(1); }
};

REGISTER_LISTENER("seed_each_test", 0, SeedEachTest);

}  // namespace
