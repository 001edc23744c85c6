#include "recipe/checkpoint_room.h"

#include <doctest/doctest.h>

#include "tests/unit/recipe/recipes.h"

using namespace exprun;

namespace {

std::string said(const std::string& override_, int64_t bytes, int64_t saved, Severity severity) {
  const CheckpointRoom room{bytes, saved, std::filesystem::current_path() / "not/made/yet", "runs"};
  return render(checkpoint_room_problems(resolve_tiny({override_}), room, severity));
}

}  // namespace

TEST_CASE("checkpoint room: what fits is no problem") {
  CHECK(said("keep_last=3", 1, 0, Severity::error).empty());
}

TEST_CASE("checkpoint room: what stays and what is being written count, what is there does not") {
  const std::string first = said("keep_last=3", int64_t{1} << 50, 0, Severity::warning);
  CHECK(
      first.starts_with("<override 1>:1:11: warning: 4 checkpoints take 4.00 PiB, "
                        "and the disk of runs has "));
  CHECK(first.find(" left\n    keep_last=3\n              ^ free some space, "
                   "or choose another place with --store\n") != std::string::npos);
  const std::string later = said("keep_last=3", int64_t{1} << 50, 3, Severity::error);
  CHECK(later.starts_with("<override 1>:1:11: error: one more checkpoint takes 1.00 PiB, "));
}
