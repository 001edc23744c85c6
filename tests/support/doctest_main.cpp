#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "support/doctest_listener.h"
#include "support/temporary_folder.h"

namespace {

// Tests neither take what is in ~/.cache/exprun nor leave anything there.
struct PrivateCache {
  PrivateCache() { ::setenv("XDG_CACHE_HOME", folder.path().c_str(), /*overwrite=*/1); }

  exprun::TemporaryFolder folder;
};

// Before main, and so before any test and any thread.
const PrivateCache private_cache;

// Keeps the name of the case that runs in the file EXPRUN_RUNNING_CASE: whoever ends this program,
// or finds it crashed, can say in which case.
class RunningCase : public exprun::DoctestListener {
 public:
  explicit RunningCase(const doctest::ContextOptions&) {}
  void test_case_start(const doctest::TestCaseData& test_case) override { write(test_case.m_name); }
  void test_case_end(const doctest::CurrentTestCaseStats&) override { write(""); }

 private:
  static void write(const char* name) {
    if (const char* const file = std::getenv("EXPRUN_RUNNING_CASE")) std::ofstream(file) << name;
  }
};

REGISTER_LISTENER("running_case", 0, RunningCase);

}  // namespace
