#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "control/command/command.h"
#include "control/command/line/offer.h"

using namespace exprun;

namespace {

Words behind(const char* what, const Typed& typed) {
  Words words = {what + ("(" + typed.last + ")")};
  words.insert(words.end(), typed.before.begin(), typed.before.end());
  return words;
}

Offer named(const char* what) {
  return [what](const Typed& typed) { return behind(what, typed); };
}

// show RECIPE key=value... --diff OTHER --json
Places show() {
  Places places;
  places.add_word(named("recipe"), false);
  places.add_word(named("change"), true);
  places.add_option("--diff", true, named("other"));
  places.add_option("--json", false, {});
  return places;
}

}  // namespace

TEST_CASE("places: each word has its turn, wherever options stand") {
  CHECK(show().offered({}) == Words{"recipe()"});
  CHECK(show().offered({""}) == Words{"recipe()"});
  CHECK(show().offered({"--json", "a"}) == Words{"recipe(a)"});
  CHECK(show().offered({"--diff", "b", "a"}) == Words{"recipe(a)"});
  CHECK(show().offered({"--diff=b", "a", "l"}) == Words{"change(l)", "a"});
  CHECK(show().offered({"a", "lr=1", "--json", ""}) == Words{"change()", "a", "lr=1"});
  CHECK(show().offered({"-q", "--store", "x", "a"}) == Words{"recipe(a)"});
}

TEST_CASE("places: the value of an option") {
  CHECK(show().offered({"a", "--diff", "b"}) == Words{"other(b)", "a"});
  CHECK(show().offered({"a", "--diff=b"}) == Words{"--diff=other(b)", "--diff=a"});
  CHECK(show().offered({"--json="}) == Words{});
  CHECK(show().offered({"--none="}) == Words{});
}

TEST_CASE("places: the names of options") {
  const Words names = {"--diff", "--json", "--store", "--quiet", "--verbose", "--help"};
  CHECK(show().offered({"-"}) == names);
  CHECK(show().offered({"a", "--d"}) == names);
}

TEST_CASE("places: no word is left, or nothing is known of it") {
  Places places;
  CHECK(places.offered({""}) == Words{});
  places.add_word({}, false);
  CHECK(places.offered({""}) == Words{});
  CHECK(places.offered({"a", ""}) == Words{});
}

TEST_CASE("places: what cannot be read offers nothing") {
  Places places;
  places.add_word([](const Typed&) -> Words { throw Error("store: none"); }, false);
  places.add_word([](const Typed&) -> Words { throw RecipeError(Diagnostics{}); }, false);
  CHECK(places.offered({""}) == Words{});
  CHECK(places.offered({"a", ""}) == Words{});
}
