// Every test begins with the same random numbers, whichever others have run before it.
#include <ATen/Context.h>
#include <doctest/doctest.h>

namespace {

struct SeedEachTest : doctest::IReporter {
  explicit SeedEachTest(const doctest::ContextOptions&) {}

  void test_case_start(const doctest::TestCaseData&) override { at::manual_seed(1); }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("seed_each_test", 0, SeedEachTest);

}  // namespace
