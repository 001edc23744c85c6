// How a store grows.
#include <doctest/doctest.h>

#include "tests/unit/store/many_runs.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

int64_t bytes_of(const DatabaseFolder& folder) {
  const Store store(folder.database(), Store::Access::read_only);
  return std::stoll(
      value_of(store, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"));
}

}  // namespace

TEST_CASE("scale: each of 10,000 runs takes as many bytes as the first" *
          doctest::test_suite("slow")) {
  const DatabaseFolder folder;
  { const Store store(folder.database(), Store::Access::read_write); }
  const int64_t empty = bytes_of(folder);
  add_runs(folder.database(), 1, 1'000);
  const int64_t thousand = bytes_of(folder) - empty;
  add_runs(folder.database(), 1'001, 10'000);
  const int64_t ten_thousand = bytes_of(folder) - empty;
  CHECK(ten_thousand > 9 * thousand);
  CHECK(static_cast<double>(ten_thousand) < 10.5 * static_cast<double>(thousand));
}
