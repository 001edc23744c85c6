#include <doctest/doctest.h>

#include "recipe/key_path.h"
#include "recipe/toml/parse.h"
#include "recipe/toml/write.h"

using namespace exprun;

namespace {

std::shared_ptr<const SourceFile> file(const std::string& text) {
  return std::make_shared<SourceFile>(SourceFile{"m.toml", text});
}

Table parse(const std::string& text) {
  Diagnostics diagnostics;
  auto table = parse_toml(file(text), Origin::file, diagnostics);
  REQUIRE_MESSAGE(table, render(diagnostics));
  return *table;
}

std::string place(const SourceSpan& span) {
  return std::to_string(span.line) + ":" + std::to_string(span.column) + "+" +
         std::to_string(span.length);
}

}  // namespace

TEST_CASE("toml: tables and keys keep the order of the file") {
  const Table root = parse("[z]\nb = 1\na = 2\n[a]\n[m.y]\n[m.b]\nc.z = 1\nc.a = 2\n");
  CHECK(root.keys() == std::vector<std::string>{"z", "a", "m"});
  CHECK(root.find("z")->as<Table>()->keys() == std::vector<std::string>{"b", "a"});
  CHECK(root.find("m")->as<Table>()->keys() == std::vector<std::string>{"y", "b"});
  CHECK(find_path(root, "m.b.c")->as<Table>()->keys() == std::vector<std::string>{"z", "a"});
}

TEST_CASE("toml: keys and values have their places, in code points") {
  const Table root =
      parse("[optimizer]\n\"größe\" = \"ü\" # no\nbetas = [0.9, 1.5]\nx = {y = 3}\n");
  const Table& table = *root.find("optimizer")->as<Table>();
  CHECK(place(root.entry("optimizer")->where) == "1:2+9");
  CHECK(place(table.entry("größe")->where) == "2:1+7");
  CHECK(place(table.find("größe")->where) == "2:11+3");
  CHECK(place((*table.find("betas")->as<Array>())[1].where) == "3:15+3");
  CHECK(place(find_path(root, "optimizer.x.y")->where) == "4:10+1");
}

TEST_CASE("toml: every kind of value") {
  const Table root = parse(
      "a = true\nb = 1_000\nc = 3e-4\nd = 'x'\ne = [1, 'a']\nf = inf\ng = \"\"\"two\nlines\"\"\"\n"
      "h = 0xff\n");
  CHECK(*root.find("a")->as<bool>());
  CHECK(*root.find("b")->as<int64_t>() == 1000);
  CHECK(*root.find("c")->as<double>() == 3e-4);
  CHECK(*root.find("d")->as<std::string>() == "x");
  CHECK(root.find("e")->as<Array>()->size() == 2);
  CHECK(toml_text(*root.find("f")) == "inf");
  CHECK(*root.find("g")->as<std::string>() == "two\nlines");
  CHECK(*root.find("h")->as<int64_t>() == 255);
  CHECK(std::string(type_name(*root.find("c"))) == "a float");
}

TEST_CASE("toml: a value within other text keeps its place") {
  Diagnostics diagnostics;
  const auto text = file("optimizer.betas=[0.9, x]");
  CHECK_FALSE(parse_toml_value(text, 16, std::string::npos, Origin::command_line, diagnostics));
  REQUIRE(diagnostics.size() == 1);
  CHECK(place(diagnostics[0].where) == "1:23+1");
  const auto good = parse_toml_value(file("a=3 "), 2, 1, Origin::command_line, diagnostics);
  REQUIRE(good);
  CHECK(good->origin == Origin::command_line);
  CHECK(place(good->where) == "1:3+1");
}

TEST_CASE("toml: no value is without a reason") {
  for (const char* text :
       {"a=3\nb=4", "a=3\nx=4", "a=3\n[b]", "a=3\n[x]", "a=3\nb", "a=", "a={\n}", "a=1979-05-27"}) {
    CAPTURE(text);
    Diagnostics diagnostics;
    CHECK_FALSE(
        parse_toml_value(file(text), 2, std::string::npos, Origin::command_line, diagnostics));
    CHECK(has_errors(diagnostics));
  }
}

TEST_CASE("toml: what is written is read back") {
  const std::string text =
      "[a]\nflag = false\nwhole = -3\nreal = 3e-4\none = 1.0\nsmall = 1e-300\nbig = inf\n"
      "text = \"tab\\t quote\\\" back\\\\ nul\\u0001 ü 🙂\\n\"\nlist = [[1, 2], [\"x\"]]\n"
      "\n[a.\"dotted.name\"]\nx = 1\n";
  const Table root = parse(text);
  const std::string written = toml_document(root);
  CHECK(toml_document(parse(written)) == written);
  CHECK(find_path(parse(written), "a.one")->as<double>() != nullptr);
  CHECK(*find_path(parse(written), "a.text")->as<std::string>() ==
        *find_path(root, "a.text")->as<std::string>());
  CHECK(find_path(parse(written), "a.\"dotted.name\".x") != nullptr);
}

TEST_CASE("toml: a large file with a mistake at its end is refused in good time") {
  std::string text = "[run]\n";
  for (int i = 0; i < 100000; ++i)
    text += "key_" + std::to_string(i) + " = " + std::string(80, '1') + ".0\n";
  text += "key_7 = 1\n";
  Diagnostics diagnostics;
  CHECK_FALSE(parse_toml(file(text), Origin::file, diagnostics));
  REQUIRE(diagnostics.size() == 1);
  CHECK(diagnostics[0].message == "key 'key_7' is given twice");
  CHECK(diagnostics[0].help == "first given on line 9");
}
