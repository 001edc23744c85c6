// Every key that the schemas declare with values of all kinds: each is taken or refused at its
// place, and what is refused has no follow-on.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/format_units.h"
#include "recipe/schema/key_lookup.h"
#include "recipes.h"

using namespace exprun;

namespace {

const std::vector<std::string> kValues = {"0",
                                          "1",
                                          "-1",
                                          "-5",
                                          "3",
                                          "7",
                                          "0.5",
                                          "-0.0",
                                          "1e308",
                                          "-1e308",
                                          "nan",
                                          "inf",
                                          "true",
                                          "\"\"",
                                          "\"auto\"",
                                          "\"none\"",
                                          "word",
                                          "1000003",
                                          "2147483648",
                                          "4611686018427387904",
                                          "9223372036854775783",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "[]",
                                          "[0]",
                                          "[\"\"]",
                                          "[0.5, 0.5]",
                                          "{}",
                                          "{a = 1}",
                                          "\"0 steps\"",
                                          "\"1e300 epochs\"",
                                          "\"7 tokens\"",
                                          "\"1 s\""};

// What makes the shortest recipe one with all components: alone, so that their keys are there.
std::vector<std::vector<std::string>> bases() {
  std::vector<std::vector<std::string>> bases = {
      {"evaluation.sample.samples=1"},
      {"evaluation.hellaswag.path=h.jsonl"},
      {"model={type = \"mlp\", hidden_size = 32, context_length = 16}"},
      {"dataset={type = \"token_shards\", train = \"a.bin\"}", "vocab_size=256"},
      {"dataset={type = \"instruction\", path = \"a.json\"}"},
      {"+optimizer.groups.x={match = [\"*\"], type = \"muon\", lr = 1}"},
      {"length=2 epochs", "run.early_stop={patience = 3}"},
      {"model.lora={rank = 2}"},
      {"batch.tokens=64"},
      {"schedule.type=cosine_annealing", "half_period=5 steps"}};
  for (const std::string& type : SchemaSet::embedded().types("optimizer"))
    bases.push_back({"optimizer.type=" + type});
  for (const std::string& type : SchemaSet::embedded().types("schedule"))
    if (type != "cosine_annealing") bases.push_back({"schedule.type=" + type});
  return bases;
}

struct Tried {
  std::string path;
  const Schema& schema;
  std::vector<std::string> base;
};

// Each declared key once, beside what it needs.
void for_every_key(const std::function<void(const Tried&)>& check) {
  const SchemaSet& schemas = SchemaSet::embedded();
  std::set<std::pair<std::string, const Schema*>> seen;
  for (std::vector<std::string> base : bases()) {
    const ResolvedRecipe recipe = resolve_tiny(base);
    for (const std::string& path : declared_paths(schemas, recipe.root())) {
      const Schema* schema = schema_at(schemas, recipe.root(), path);
      if (path.starts_with("sweep.") || !seen.emplace(path, schema).second) continue;
      check({path, *schema, base});
    }
  }
  CHECK(seen.size() > 130);
}

Resolution with_value(const Tried& tried, const std::string& value) {
  std::vector<std::string> overrides = tried.base;
  overrides.push_back(tried.path + "=" + value);
  return try_resolve(recipe_text(kTinyRecipe, overrides));
}

std::string last_override(const Tried& tried) {
  return "<override " + std::to_string(tried.base.size() + 1) + ">";
}

// Whether every mistake is said to be in the last override, and there is one. That a type was
// changed before is another matter.
bool only_there(const Tried& tried, const Diagnostics& diagnostics) {
  return has_errors(diagnostics) &&
         std::all_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& d) {
           return d.where.file->name == last_override(tried) || d.message.ends_with("is ignored");
         });
}

}  // namespace

TEST_CASE("every key: any value is taken, or refused without a follow-on" *
          doctest::test_suite("exhaustive")) {
  size_t refused = 0, taken = 0;
  for_every_key([&](const Tried& tried) {
    for (const std::string& value : kValues) {
      CAPTURE(tried.path);
      CAPTURE(value);
      const Resolution resolution = with_value(tried, value);
      const Value* found = resolution.recipe.find(tried.path);
      const bool is_mistake = found != nullptr && found->is_invalid;
      if (is_mistake)
        CHECK_MESSAGE(only_there(tried, resolution.diagnostics), render(resolution.diagnostics));
      refused += is_mistake;
      taken += !has_errors(resolution.diagnostics);
      if (!has_errors(resolution.diagnostics))
        CHECK(error_of(recipe_text(resolution.recipe.to_toml())) == "");
    }
  });
  CHECK(refused > 2000);
  CHECK(taken > 500);
}

TEST_CASE("every key: the first number outside of its range is refused at its place") {
  int checked = 0;
  for_every_key([&](const Tried& tried) {
    if (tried.schema.contains("x-period")) return;
    for (const auto& [bound, away] : {std::pair("minimum", -1.0),
                                      {"exclusiveMinimum", 0.0},
                                      {"maximum", 1.0},
                                      {"exclusiveMaximum", 0.0}}) {
      if (!tried.schema.contains(bound)) continue;
      CAPTURE(tried.path);
      CAPTURE(bound);
      const double outside = tried.schema[bound].get<double>() + away;
      const Resolution resolution = with_value(tried, shortest(outside));
      CHECK_MESSAGE(only_there(tried, resolution.diagnostics), render(resolution.diagnostics));
      ++checked;
    }
  });
  CHECK(checked > 50);
}
