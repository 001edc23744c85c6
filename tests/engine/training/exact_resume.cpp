#include "tests/engine/training/exact_resume.h"

#include <doctest/doctest.h>

#include "base/format_units.h"
#include "base/random.h"
#include "engine/tiny_run.h"

namespace exprun {
namespace {

using Series = std::map<std::string, std::vector<std::pair<int64_t, double>>>;

// To the bit, in which a NaN is equal to itself.
std::vector<std::string> as_text(const Series& series) {
  std::vector<std::string> lines;
  for (const auto& [name, values] : series)
    for (const auto& [step, value] : values)
      lines.push_back(name + " " + std::to_string(step) + " " + shortest(value));
  return lines;
}

}  // namespace

void check_equal(const std::map<std::string, at::Tensor>& a,
                 const std::map<std::string, at::Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& [name, tensor] : a) {
    CAPTURE(name);
    CHECK(tensor.equal(b.at(name)));
  }
}

void check_exact(const std::vector<std::string>& overrides, uint64_t trials,
                 const std::function<void(Pipeline&)>& prepare) {
  const TinyRun whole(overrides);
  MemoryRecorder expected;
  const Attempt uninterrupted = make_attempt(whole, expected, never_stop, at::kCPU, prepare);
  CHECK(uninterrupted.result.end == TrainingResult::End::finished);

  for (uint64_t trial = 0; trial < trials; ++trial) {
    const TinyRun parts(overrides);
    MemoryRecorder recorder;
    Attempt last;
    int attempts = 1;
    while (true) {
      const int look =
          5 + static_cast<int>(random_below(60, {trial, static_cast<uint64_t>(attempts)}));
      last = make_attempt(parts, recorder, stop_at_look(look), at::kCPU, prepare);
      if (last.result.end == TrainingResult::End::finished) break;
      REQUIRE(++attempts < 100);
    }
    CAPTURE(attempts);
    CHECK(attempts > 2);
    CHECK(as_text(recorder.series()) == as_text(expected.series()));
    check_equal(last.tensors, uninterrupted.tensors);
  }
}

}  // namespace exprun
