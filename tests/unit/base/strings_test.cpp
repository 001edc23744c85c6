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

TEST_CASE("lists: words and lines of a text, and back") {
  const std::vector<std::string> words{"a", "b", "c"};
  CHECK(words_of_list("a,,b,c,") == words);
  CHECK(words_of_list("").empty());
  CHECK(lines_of("a\nb\nc") == words);
  CHECK(lines_of("a\n\n") == std::vector<std::string>{"a", ""});
  CHECK(joined(words) == "a, b, c");
  CHECK(joined({}, ",") == "");
  CHECK(listed(words) == "a, b and c");
  CHECK(alternatives({"a"}) == "a");
  CHECK(some_of(words, 3) == "a, b, c");
  CHECK(some_of(words, 2) == "a, b and 1 more");
  CHECK(lower_case("Val/Loss Ä") == "val/loss Ä");
}
