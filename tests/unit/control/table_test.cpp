#include "control/report/table.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace exprun;

namespace {

ResultTable sample() {
  ResultTable table;
  table.columns = {{"run", "run"}, {"lr", "lr", true, 1}, {"val_loss", "val loss", true}};
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

TEST_CASE("table: a narrow terminal leaves out what is not always shown, and names it") {
  std::vector<std::string> left_out;
  CHECK(to_plain(sample(), {20, false}, &left_out) ==
        "run        val loss\n"
        "a             1.915\n"
        "long, \"b\"       nan\n");
  CHECK(left_out == std::vector<std::string>{"lr"});
}

TEST_CASE("table: on a narrow terminal the lowest priorities have the room first") {
  ResultTable table{{{"wide", "wide", false, 3}, {"a", "a", false, 2}, {"b", "b", false, 1}},
                    {{Cell::word("12345"), Cell::word("123"), Cell::word("1")}}};
  const auto at = [&](size_t width) {
    std::vector<std::string> left_out;
    std::string text = to_plain(table, {width, false}, &left_out);
    for (const std::string& name : left_out) text += "-" + name;
    return text;
  };
  CHECK(at(13) == "wide   a    b\n12345  123  1\n");
  CHECK(at(12) == "a    b\n123  1\n-wide");
  CHECK(at(5) == "b\n1\n-wide-a");
  table.columns[1].priority = 4;  // a narrow one may take the room that a wide one leaves
  CHECK(at(8) == "wide   b\n12345  1\n-a");
  table.columns[0].priority = 2;
  table.columns[1].priority = 3;
  CHECK(at(7) == "a    b\n123  1\n-wide");
}

TEST_CASE("table: a text that may be cut has the room there is, or is left out") {
  ResultTable table{{{"attempt", "attempt", true}, {"message", "message", false, 2, false, true}},
                    {{Cell::integer(1), Cell::word("no space is left on the device")}}};
  std::vector<std::string> left_out;
  CHECK(to_plain(table, {30, false}, &left_out) ==
        "attempt  message\n      1  no space is left on …\n");
  CHECK(left_out.empty());
  CHECK(to_plain(table, {0, false}).find("the device") != std::string::npos);
  CHECK(to_plain(table, {20, false}, &left_out) == "attempt\n      1\n");
  CHECK(left_out == std::vector<std::string>{"message"});
}

TEST_CASE("table: a long text that may be cut leaves the others their room") {
  ResultTable table{{{"attempt", "attempt", true},
                     {"host", "host", false, 5},
                     {"message", "message", false, 2, false, true}},
                    {{Cell::integer(1), Cell::word("box"), Cell::word(std::string(90, 'x'))}}};
  CHECK(to_plain(table, {40, false}) ==
        "attempt  host  message\n      1  box   " + std::string(24, 'x') + "…\n");
  CHECK(to_plain(table, {31, false}) ==
        "attempt  host  message\n      1  box   " + std::string(15, 'x') + "…\n");
  CHECK(to_plain(table, {30, false}) ==
        "attempt  message\n      1  " + std::string(20, 'x') + "…\n");
}

TEST_CASE("table: on the narrowest terminal one column is left, however wide") {
  ResultTable table{{{"a", "a", false, 2}, {"b", "b", false, 1}},
                    {{Cell::word("1"), Cell::word("12345")}}};
  CHECK(to_plain(table, {3, false}) == "b\n12345\n");
}

TEST_CASE("table: what fits is left whole") {
  std::vector<std::string> left_out;
  CHECK(to_plain(sample(), {27, false}, &left_out) == to_plain(sample(), {}));
  CHECK(left_out.empty());
}

TEST_CASE("table: characters are counted, not bytes, and lines cannot break") {
  ResultTable table{{{"a", "a"}, {"b", "b\n"}}, {{Cell::word("é\n"), Cell::word("x")}}};
  CHECK(to_plain(table, {}) ==
        "a    b\\n\n"
        "é\\n  x\n");
}

TEST_CASE("table: wide characters take two columns, combining marks none") {
  ResultTable table{
      {{"a", "a"}, {"b", "b"}},
      {{Cell::word("\u65e5\u672c"), Cell::word("x")}, {Cell::word("e\u0301"), Cell::word("y")}}};
  CHECK(to_plain(table, {}) ==
        "a     b\n"
        "\u65e5\u672c  x\n"
        "e\u0301     y\n");
  table.columns[1].priority = 1;
  CHECK(to_plain(table, {6, false}) == "a\n\u65e5\u672c\ne\u0301\n");
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
