#include "recipe/checkpoint_room.h"

#include <doctest/doctest.h>

#include "tests/unit/recipe/recipes.h"

using namespace exprun;

namespace {

constexpr int64_t kPebibyte = int64_t{1} << 50;

std::string said(const std::string& override_, int64_t saved, int64_t to_come, Severity severity) {
  const CheckpointRoom room{kPebibyte, saved, to_come,
                            std::filesystem::current_path() / "not/made/yet", "runs"};
  return render(checkpoint_room_problems(resolve_tiny({override_}), room, severity));
}

}  // namespace

TEST_CASE("checkpoint room: what fits is no problem") {
  const CheckpointRoom room{1, 0, 100, std::filesystem::current_path(), "runs"};
  CHECK(checkpoint_room_problems(resolve_tiny(), room, Severity::error).empty());
}

TEST_CASE("checkpoint room: what stays and what is being written count, what is there does not") {
  const std::string first = said("keep_last=3", 0, 100, Severity::warning);
  CHECK(
      first.starts_with("<override 1>:1:11: warning: 4 checkpoints take 4.00 PiB, "
                        "and the disk of runs has "));
  CHECK(first.find(" left\n    keep_last=3\n              ^ free some space, "
                   "or choose another place with --store\n") != std::string::npos);
  const std::string later = said("keep_last=3", 3, 100, Severity::error);
  CHECK(later.starts_with("<override 1>:1:11: error: one more checkpoint takes 1.00 PiB, "));
}

TEST_CASE("checkpoint room: a run needs none for what it will not save") {
  CHECK(said("keep_last=3", 0, 1, Severity::error)
            .starts_with("<override 1>:1:11: error: one checkpoint takes 1.00 PiB, "));
  CHECK(said("keep_last=3", 2, 0, Severity::error).empty());
}
