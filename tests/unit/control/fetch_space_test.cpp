#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "control/data/fetch/download.h"
#include "support/temporary_folder.h"

using namespace exprun;

TEST_CASE("data fetch: parts that are there already need no more room") {
  const TemporaryFolder folder;
  const auto wanted = [&](const char* name, int64_t bytes) {
    return Download{"http://host/" + std::string(name), folder.path() / name, bytes, ""};
  };
  const std::vector<Download> downloads = {wanted("a", 3000), wanted("b", 2000),
                                           wanted("size is not known", 0)};
  const auto fits = [&](std::optional<int64_t> free) {
    try {
      check_space(downloads, folder.path(), free);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  CHECK(fits(5000));
  CHECK_FALSE(fits(4999));
  CHECK(fits(std::nullopt));
  folder.write("a.part", std::string(2900, 'x'));
  CHECK(fits(2100));
  CHECK_FALSE(fits(2099));
  folder.write("b.part", std::string(2500, 'x'));  // longer than the file: it is begun again
  CHECK(fits(100));
  CHECK_FALSE(fits(99));
  CHECK_THROWS_WITH_AS(check_space(downloads, "there", 10),
                       "data fetch: 100 B are needed in 'there', and 10 B are free; ask "
                       "for fewer --shards, or another folder with --to",
                       Error);
}
