#include "engine/buffers/optimizer_groups.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "engine/buffers/optimizers.h"
#include "engine/parameter.h"
#include "engine/tiny_run.h"

namespace exprun {
namespace {

std::string mistake(const std::vector<std::string>& overrides) {
  try {
    const TinyRun run(overrides);
    run.build();
  } catch (const RecipeError& error) {
    const std::string text = error.what();
    return text.substr(text.find("error: ") + 7);
  }
  return "none";
}

TEST_CASE("glob: stars stand for any text, dots included") {
  CHECK(glob_matches("blocks.*.weight", "blocks.0.attention.output_projection.weight"));
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("head.?eight", "head.weight"));
  CHECK_FALSE(glob_matches("blocks.*.weight", "blocks.0.attention.bias"));
  CHECK_FALSE(glob_matches("head", "head.weight"));
  CHECK_FALSE(glob_matches("a?", "a"));
}

TEST_CASE("optimizer groups: matrices and embeddings decay, vectors do not") {
  const TinyRun run;
  const Pipeline pipeline = run.build();
  const auto& groups = pipeline.optimizers().groups();
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].name == "default");
  for (const Parameter& parameter : groups[0].decayed)
    CHECK(parameter.kind != ParameterClass::vector);
  for (const Parameter& parameter : groups[0].undecayed)
    CHECK(parameter.kind == ParameterClass::vector);
}

TEST_CASE("optimizer groups: a group takes what it matches, [optimizer] the rest") {
  const TinyRun run({R"(optimizer.groups.late={match=["blocks.1.*"],type="adamw",lr=1e-5})"});
  const Pipeline pipeline = run.build();
  const auto& groups = pipeline.optimizers().groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].name == "default");
  CHECK(groups[1].name == "late");
  for (const Parameter& parameter : groups[1].decayed)
    CHECK(parameter.name.starts_with("blocks.1."));
  CHECK(pipeline.optimizers().lr(1) == 3e-3);
}

TEST_CASE("optimizer groups: a parameter in two groups is named") {
  CHECK(mistake({R"(optimizer.groups.a={match=["blocks.*"],type="adamw",lr=1e-5})",
                 R"(optimizer.groups.b={match=["*.up_projection.weight"],type="adamw",lr=1e-5})"})
            .starts_with("parameter 'blocks.0.feed_forward.up_projection.weight' is already "
                         "in [optimizer.groups.a]"));
}

TEST_CASE("optimizer groups: a group that matches nothing is a mistake") {
  CHECK(mistake({R"(optimizer.groups.a={match=["block.*"],type="adamw",lr=1e-5})"})
            .starts_with("no parameter matches group 'a'"));
}

}  // namespace
}  // namespace exprun
