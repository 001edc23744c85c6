#include "base/files/run_folder.h"

#include <doctest/doctest.h>

#include "support/temporary_folder.h"

using namespace exprun;

TEST_CASE("run folder: the threads of a run come back, and a damaged file has none") {
  const TemporaryFolder folder;
  const RunFolder run{folder.path()};
  CHECK(!kept_threads(run));
  keep_threads(run, {3, 2});
  CHECK(kept_threads(run) == RankThreads{3, 2});
  keep_threads(run, {1, 1});
  CHECK(kept_threads(run) == RankThreads{1, 1});
  for (const char* text : {"", "{", "[]", "{}", R"({"threads": 0, "world_size": 1})",
                           R"({"threads": "2", "world_size": 1})"}) {
    folder.write("threads.json", text);
    CHECK(!kept_threads(run));
  }
}
