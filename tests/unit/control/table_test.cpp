#include "control/report/table.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace exprun;

namespace {

ResultTable sample() {
  ResultTable table;
  table.columns = {{"run", "run"}, {"lr", "lr", true, true}, {"val_loss", "val loss", true}};
  table.rows = {{Cell::word("a"), Cell::number(0.0003, "0.0003"), Cell::number(1.91489)},
                {Cell::word("long, \"b\""), Cell::none(), Cell::number(NAN)}};
  return table;
}

}  // namespace

TEST_CASE("table: columns are aligned, numbers to the right") {
  CHECK(to_plain(sample(), {}) ==
        "run            lr  val loss\n"
        "a          0.0003     1.915\n"
        "long, \"b\"               nan\n");
}

TEST_CASE("table: a narrow terminal drops the last droppable column and names it") {
  std::vector<std::string> left_out;
  CHECK(to_plain(sample(), {20, false}, &left_out) ==
        "run        val loss\n"
        "a             1.915\n"
        "long, \"b\"       nan\n");
  CHECK(left_out == std::vector<std::string>{"lr"});
}

TEST_CASE("table: what fits is left whole") {
  std::vector<std::string> left_out;
  CHECK(to_plain(sample(), {27, false}, &left_out) == to_plain(sample(), {}));
  CHECK(left_out.empty());
}

TEST_CASE("table: characters are counted, not bytes, and lines cannot break") {
  ResultTable table{{{"a", "a"}, {"b", "b"}}, {{Cell::word("é\n"), Cell::word("x")}}};
  CHECK(to_plain(table, {}) ==
        "a    b\n"
        "é\\n  x\n");
}

TEST_CASE("table: colours stand around the text only") {
  ResultTable table{{{"state", "state"}, {"x", "x"}},
                    {{Cell::word("ok", Tone::good), Cell::word("y")}}};
  CHECK(to_plain(table, {0, true}) == "state  x\n\033[32mok\033[0m     y\n");
}

TEST_CASE("table: csv quotes what needs it and gives numbers in full") {
  CHECK(to_csv(sample()) ==
        "run,lr,val_loss\n"
        "a,0.0003,1.91489\n"
        "\"long, \"\"b\"\"\",,nan\n");
}

TEST_CASE("table: json has one object a line, null and nan are told apart") {
  CHECK(to_json(sample()) ==
        "[\n"
        " {\"run\":\"a\",\"lr\":0.0003,\"val_loss\":1.91489},\n"
        " {\"run\":\"long, \\\"b\\\"\",\"lr\":null,\"val_loss\":\"nan\"}\n"
        "]\n");
  CHECK(to_json(ResultTable{}) == "[]\n");
}

TEST_CASE("table: markdown keeps its own bars") {
  ResultTable table{{{"a", "a|b"}, {"n", "n", true}}, {{Cell::word("x|y"), Cell::integer(3)}}};
  CHECK(to_markdown(table) == "| a\\|b | n |\n| --- | ---: |\n| x\\|y | 3 |\n");
}
