#include "base/diagnostic.h"

#include <doctest/doctest.h>

#include "base/terminal/console.h"

using namespace exprun;

namespace {

std::shared_ptr<const SourceFile> file(const std::string& name, const std::string& text) {
  return std::make_shared<SourceFile>(SourceFile{name, text});
}

}  // namespace

TEST_CASE("diagnostic: place, line, carets and help") {
  const auto recipe = file("mine.toml", "[optimizer]\nbetas = [0.9, 1.5]\n");
  CHECK(render(Diagnostic{{recipe, 2, 15, 3}, "'betas' must be < 1"}) ==
        "mine.toml:2:15: error: 'betas' must be < 1\n"
        "    betas = [0.9, 1.5]\n"
        "                  ^^^\n");
  CHECK(render(Diagnostic{{recipe, 1, 2, 9}, "[optimizer] needs 'lr'", "peak learning rate"}) ==
        "mine.toml:1:2: error: [optimizer] needs 'lr'\n"
        "    [optimizer]\n"
        "     ^^^^^^^^^ peak learning rate\n");
}

TEST_CASE("diagnostic: tabs are copied, code points counted, wide characters as wide as shown") {
  const auto recipe = file("m.toml", "\tlrr = 3\np = \"ö漢\" + x\n");
  CHECK(render(Diagnostic{{recipe, 1, 2, 3}, "unknown key 'lrr'", "did you mean 'lr'?"}) ==
        "m.toml:1:2: error: unknown key 'lrr'\n"
        "    \tlrr = 3\n"
        "    \t^^^ did you mean 'lr'?\n");
  CHECK(render(Diagnostic{{recipe, 2, 12, 1}, "no"}) ==
        "m.toml:2:12: error: no\n"
        "    p = \"ö漢\" + x\n"
        "                ^\n");
  CHECK(render(Diagnostic{{recipe, 2, 7, 1}, "no"}) ==
        "m.toml:2:7: error: no\n"
        "    p = \"ö漢\" + x\n"
        "          ^^\n");
}

TEST_CASE("diagnostic: without a line the help stands alone") {
  const auto recipe = file("m.toml", "a = 1");
  CHECK(render(Diagnostic{{recipe, 0, 0, 0}, "no such file", "did you mean 'n.toml'?"}) ==
        "m.toml: error: no such file\n    did you mean 'n.toml'?\n");
  CHECK(render(Diagnostic{{recipe, 7, 1, 1}, "gone"}) == "m.toml:7:1: error: gone\n");
  CHECK(render(Diagnostic{{}, "no place", "help"}) == "error: no place\n    help\n");
}

TEST_CASE("diagnostic: a place behind the end of its line is shown at the end") {
  const auto recipe = file("m.toml", "a = [1\r\n");
  CHECK(render(Diagnostic{{recipe, 1, 9, 4}, "open"}) ==
        "m.toml:1:9: error: open\n    a = [1\n          ^\n");
}

TEST_CASE("diagnostic: control characters and broken bytes never reach the terminal") {
  const auto recipe = file("m.toml", "a = \x1b[31m\xff");
  CHECK(render(Diagnostic{{recipe, 1, 1, 1}, "no"}) ==
        "m.toml:1:1: error: no\n"
        "    a = \xEF\xBF\xBD[31m\xEF\xBF\xBD\n"
        "    ^\n");
}

TEST_CASE("diagnostic: a message may list things on lines of their own") {
  const auto recipe = file("m.toml", "a = 1");
  const Diagnostic listing{{recipe, 1, 1, 1}, "two differ:\n  one \x1b\n  two of them", "help"};
  CHECK(
      render(listing) ==
      "m.toml:1:1: error: two differ:\n  one \xEF\xBF\xBD\n  two of them\n    a = 1\n    ^ help\n");
  CHECK(
      render(listing, Rendering{31, false}) ==
      "m.toml:1:1: error: two differ:\n  one \xEF\xBF\xBD\n  two of them\n    a = 1\n    ^ help\n");
}

TEST_CASE("diagnostic: a long line is cut around the place") {
  const std::string left(300, 'l'), right(300, 'r');
  const auto recipe = file("m.toml", left + "X" + right);
  const std::string text = render(Diagnostic{{recipe, 1, 301, 1}, "no"});
  CHECK(text.size() < 400);
  CHECK(text.find("    ..." + std::string(60, 'l') + "Xrrr") != std::string::npos);
  CHECK(text.find("\n" + std::string(4 + 3 + 60, ' ') + "^\n") != std::string::npos);
}

TEST_CASE("diagnostic: the chain of extends, and warnings") {
  const auto parent = file("base.toml", "x = 1"),
             child = file("mine.toml", "extends = \"base.toml\"");
  Diagnostic diagnostic{{parent, 1, 1, 1}, "unknown key 'x'"};
  diagnostic.also.push_back({child, 1, 11, 11});
  diagnostic.severity = Severity::warning;
  CHECK(render(diagnostic) ==
        "base.toml:1:1: warning: unknown key 'x'\n    x = 1\n    ^\n"
        "    extended by mine.toml:1:11\n");
}

TEST_CASE("diagnostic: sorted by the recipe, its parents, the overrides in their order") {
  const auto recipe = file("z.toml", ""), parent = file("a.toml", "");
  using Kind = SourceFile::Kind;
  const auto override_ = [](const char* name, Kind kind) {
    return std::make_shared<const SourceFile>(SourceFile{name, "", kind});
  };
  const auto second = override_("<override 2>", Kind::typed_override);
  const auto tenth = override_("<override 10>", Kind::typed_override);
  const auto stored = override_("<a>", Kind::other_override);
  Diagnostic in_parent{{parent, 1, 1, 1}, "3"};
  in_parent.also.push_back({recipe, 1, 1, 1});
  const RecipeError error(Diagnostics{{{stored, 1, 1, 1}, "6"},
                                      {{tenth, 1, 1, 1}, "5"},
                                      {{second, 1, 1, 1}, "4"},
                                      in_parent,
                                      {{recipe, 9, 1, 1}, "2"},
                                      {{recipe, 3, 5, 1}, "1"}});
  std::string order;
  for (const Diagnostic& diagnostic : error.diagnostics()) order += diagnostic.message;
  CHECK(order == "123456");
  CHECK(std::string(error.what()).starts_with("z.toml:3:5: error: 1\n"));
}

TEST_CASE("diagnostic: warnings alone are no errors") {
  Diagnostic warning{{}, "careful"};
  warning.severity = Severity::warning;
  CHECK_FALSE(has_errors({warning}));
  CHECK(has_errors({warning, {{}, "wrong"}}));
}
