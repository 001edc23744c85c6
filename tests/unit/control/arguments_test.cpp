#include "control/command/line/arguments.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "support/refusal.h"

using namespace exprun;

namespace {

std::string refusal(const std::vector<std::string>& words) {
  std::string recipe;
  bool quick = false;
  Arguments arguments("check RECIPE", "Finds mistakes.");
  arguments.word("RECIPE", recipe, "a file").flag("--quick", quick, "fast");
  return refusal(ExitCode::bad_recipe, [&] { arguments.parse(words); });
}

}  // namespace

TEST_CASE("arguments: words, flags and overrides in any order") {
  std::string recipe;
  std::vector<std::string> overrides;
  bool fresh = false;
  Arguments arguments("RECIPE", "");
  arguments.word("RECIPE", recipe, "")
      .words("key=value...", overrides, "")
      .flag("--new", fresh, "");
  CHECK(arguments.parse({"a.toml", "lr=-1", "--new", "betas=[0.9,0.95]", "~run.seed"}));
  CHECK(recipe == "a.toml");
  CHECK(fresh);
  CHECK(overrides == std::vector<std::string>{"lr=-1", "betas=[0.9,0.95]", "~run.seed"});
}

TEST_CASE("arguments: what is wrong is named, with the nearest option") {
  CHECK(refusal({"a.toml", "--quik"}) ==
        "check: unknown option '--quik'; did you mean '--quick'?\n  usage: exprun check RECIPE");
  CHECK(refusal({"a.toml", "--hlep"}) ==
        "check: unknown option '--hlep'; did you mean '--help'?\n  usage: exprun check RECIPE");
  CHECK(refusal({"a.toml", "b.toml"}) ==
        "check: unexpected 'b.toml'\n  usage: exprun check RECIPE");
  CHECK(refusal({}) == "check: RECIPE is missing\n  usage: exprun check RECIPE");
}

TEST_CASE("arguments: an option is given once, with its value") {
  const auto said = [](const std::vector<std::string>& words) -> std::string {
    std::string sort;
    Arguments arguments("ls", "");
    arguments.option("--sort", "COLUMN", sort, "");
    try {
      arguments.parse(words);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(said({"--sort", "lr"}) == "");
  CHECK(said({"--sort", "lr", "--sort", "lr"}) ==
        "ls: --sort is given more than once\n  usage: exprun ls");
  CHECK(said({"--sort"}) == "ls: --sort needs a value\n  usage: exprun ls");
}

TEST_CASE("arguments: a flag takes no value, and what looks like one may be that of an option") {
  CHECK(refusal({"a.toml", "--quick="}) ==
        "check: --quick takes no value\n  usage: exprun check RECIPE");
  std::string where;
  bool json = false;
  std::vector<std::string> rest;
  Arguments arguments("ls", "");
  arguments.option("--where", "EXPR", where, "")
      .flag("--json", json, "")
      .words("WORD...", rest, "");
  CHECK(arguments.parse({"--where", "--json=1", "--", "--json=2"}));
  CHECK(where == "--json=1");
  CHECK(rest == std::vector<std::string>{"--json=2"});
  CHECK_FALSE(json);
}

TEST_CASE("arguments: a number says the least that it may be") {
  int64_t from = 0, tokens = 256;
  Arguments arguments("head", "");
  arguments.number("--from", from, "").number("--tokens", tokens, "", 1);
  const auto said = [&](const std::string& word) {
    return refusal(ExitCode::bad_recipe, [&] { arguments.parse({word}); });
  };
  CHECK(said("--from=-1") ==
        "head: --from takes a whole number of at least 0, not '-1'\n  usage: exprun head");
  CHECK(said("--tokens=0") ==
        "head: --tokens takes a whole number of at least 1, not '0'\n  usage: exprun head");
  CHECK(said("--tokens=9223372036854775808").find(", not '9223372036854775808'") !=
        std::string::npos);
  CHECK(arguments.parse({"--from=0", "--tokens=1"}));
  CHECK(from == 0);
  CHECK(tokens == 1);
}

TEST_CASE("arguments: of words that are needed one is missing, or empty") {
  std::vector<std::string> paths;
  Arguments arguments("look PATH...", "");
  arguments.needed_words("PATH...", paths, "");
  const auto said = [&](const std::vector<std::string>& words) {
    paths.clear();
    return refusal(ExitCode::bad_recipe, [&] { arguments.parse(words); });
  };
  CHECK(said({}) == "look: PATH is missing\n  usage: exprun look PATH...");
  CHECK(said({"a", ""}) == "look: PATH is empty\n  usage: exprun look PATH...");
  CHECK(arguments.parse({"a", "b"}));
  CHECK(paths == std::vector<std::string>{"a", "b"});
}

TEST_CASE("arguments: a change of the recipe has no dashes") {
  std::string recipe;
  std::vector<std::string> overrides;
  Arguments arguments("check RECIPE [key=value...]", "");
  arguments.word("RECIPE", recipe, "").words("key=value...", overrides, "");
  CHECK_THROWS_WITH_AS(arguments.parse({"a.toml", "--lr=3e-4"}),
                       "check: unknown option '--lr=3e-4'; did you mean 'lr=3e-4'?\n"
                       "  usage: exprun check RECIPE [key=value...]",
                       Error);
}

TEST_CASE("globals: taken out of the line wherever they stand") {
  Words words = {"ls", "--store", "/tmp/x/../y", "-q", "a b"};
  const Globals globals = take_globals(words);
  CHECK(words == Words{"ls", "a b"});
  CHECK(globals.store.path == "/tmp/y");
  CHECK(globals.store.shown == "/tmp/x/../y");
  CHECK(globals.level == LogLevel::warning);
  CHECK(globals.command_line == "exprun ls --store /tmp/x/../y -q 'a b'");
}

TEST_CASE("globals: --store=DIR, and --store without a folder") {
  Words words = {"--store=z", "ls"};
  CHECK(take_globals(words).store.shown == "z");
  Words bad = {"ls", "--store"};
  CHECK_THROWS_WITH_AS(take_globals(bad), "command line: --store needs a folder", Error);
}
