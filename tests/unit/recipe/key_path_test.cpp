#include "recipe/key_path.h"

#include <doctest/doctest.h>

using namespace exprun;

using Parts = std::vector<std::string>;

TEST_CASE("key path: any name is written and read back") {
  for (const std::string name :
       {"lr", "a.b", "a b", "", "a\"b", "a\\", "\\\"", "\n\t\x01", "'", "ü"}) {
    CAPTURE(name);
    const std::string path = join_path("evaluation", name);
    CHECK(split_path(path + ".every") == Parts{"evaluation", name, "every"});
    CHECK(last_part(path) == name);
    CHECK(parent_path(join_path(path, "every")) == path);
  }
  CHECK(join_path("a", "b\"c\n") == "a.\"b\\\"c\\n\"");
}

TEST_CASE("key path: parts in single quotes stand as they are") {
  CHECK(split_path("a.'b.\\n'.c") == Parts{"a", "b.\\n", "c"});
}

TEST_CASE("key path: what is none") {
  for (const char* text : {"", ".", "a.", ".a", "a..b", "a b", "\"a", "'a", "\"a\"b", "\"\\\"",
                           "\"\\x\"", "\"\\u12\"", "\"\\u0100\""})
    CHECK_MESSAGE(split_path(text).empty(), text);
}
