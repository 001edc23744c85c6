#include "recipe/paths.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "base/diagnostic.h"

using namespace exprun;

TEST_CASE("paths: the environment and LibTorch are filled in") {
  ::setenv("EXPRUN_TEST_PATH", "/some/where", 1);
  ::unsetenv("EXPRUN_TEST_NONE");
  CHECK(expand_path("data/*.txt", "") == "data/*.txt");
  CHECK(expand_path("${env:EXPRUN_TEST_PATH}/a", "") == "/some/where/a");
  CHECK(expand_path("${env:EXPRUN_TEST_PATH:x}", "") == "/some/where");
  CHECK(expand_path("${env:EXPRUN_TEST_NONE:data:2}/a", "") == "data:2/a");
  CHECK(expand_path("${env:EXPRUN_TEST_NONE:}", "") == "");
  CHECK(expand_path("${libtorch}/a/${libtorch}", "/t") == "/t/a//t");
}

TEST_CASE("paths: what cannot be filled in is an error with the way out") {
  ::unsetenv("EXPRUN_TEST_NONE");
  CHECK_THROWS_WITH_AS(expand_path("${env:EXPRUN_TEST_NONE}/a", ""),
                       "the environment variable EXPRUN_TEST_NONE is not set; set it, or write "
                       "${env:EXPRUN_TEST_NONE:default}",
                       Error);
  CHECK_THROWS_WITH_AS(expand_path("${libtorch}/a", ""),
                       "${libtorch} is unknown on this machine; set LIBTORCH to the folder that "
                       "contains its lib/ and include/",
                       Error);
  CHECK_THROWS_WITH_AS(expand_path("${home}/a", ""), "unknown variable ${home}", Error);
  CHECK_THROWS_WITH_AS(expand_path("${libtorch/a", "/t"), "the closing '}' of '${' is missing",
                       Error);
}
