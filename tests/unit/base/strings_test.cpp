#include "base/strings.h"

#include <doctest/doctest.h>

using namespace exprun;

TEST_CASE("shell: a word is quoted where a shell would make something else of it") {
  CHECK(shell_quoted("lr=1e-3,2e-3") == "lr=1e-3,2e-3");
  CHECK(shell_quoted("@last") == "@last");
  CHECK(shell_quoted("../x y.toml") == "'../x y.toml'");
  CHECK(shell_quoted("seed=range(3)") == "'seed=range(3)'");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_quoted("") == "''");
}
