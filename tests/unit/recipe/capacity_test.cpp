#include "recipe/capacity.h"

#include <doctest/doctest.h>

#include "tests/unit/recipe/recipes.h"

using namespace exprun;

namespace {

constexpr int64_t kGibibyte = int64_t{1} << 30;

// Of checkpoints of a GiB each, of which the newest three stay.
std::string said(int64_t saved, int64_t to_come, std::optional<int64_t> left,
                 const std::string& keep_best = "none") {
  const CheckpointSpace space{kGibibyte, saved, to_come, "runs", left};
  return render(
      checkpoint_space_problems(resolve_tiny({"keep_last=3", "keep_best=" + keep_best}), space));
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("checkpoint space: what fits is no problem") {
  CHECK(said(0, 100, 4 * kGibibyte) == "");
  CHECK(said(0, 100, std::nullopt) == "");
}

TEST_CASE("checkpoint space: what stays and what is being written count, what is there does not") {
  CHECK(says(said(0, 100, 4 * kGibibyte - 1), "4 checkpoints take 4.00 GiB, "));
  CHECK(says(said(1, 100, kGibibyte), "3 more checkpoints take 3.00 GiB, "));
  CHECK(said(3, 100, kGibibyte) == "");
  CHECK(says(said(3, 100, 0), "one more checkpoint takes 1.00 GiB, "));
}

TEST_CASE("checkpoint space: the best stays beside the newest") {
  CHECK(says(said(0, 100, 5 * kGibibyte - 1, "val/loss"), "5 checkpoints take 5.00 GiB, "));
  CHECK(said(0, 100, 5 * kGibibyte, "val/loss") == "");
}

TEST_CASE("checkpoint space: a run needs none for what it will not save") {
  CHECK(says(said(0, 1, 0), "one checkpoint takes 1.00 GiB, "));
  CHECK(said(2, 0, 0) == "");
}
