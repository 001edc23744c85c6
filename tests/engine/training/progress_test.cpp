#include "engine/record/progress.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/files/file.h"
#include "engine/tiny_run.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

// What goes to standard error meanwhile.
template <typename Action>
std::string said(Action action) {
  const TemporaryFolder folder;
  const auto file = folder.write("stderr", "");
  const int before = ::dup(STDERR_FILENO);
  REQUIRE(std::freopen(file.c_str(), "w", stderr) != nullptr);
  action();
  std::fflush(stderr);
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  return read_file(file);
}

StepRecord step_of_a_millisecond(int64_t step) {
  StepRecord record;
  record.step = step;
  record.loss = 1;
  record.seconds = 1e-3;
  record.tokens = 64;
  return record;
}

}  // namespace

TEST_CASE("progress: the time that is left counts the evaluations to come") {
  const TinyRun run({"evaluation.val_loss.every='10 steps'"});  // of 40
  const Pipeline pipeline = run.build();
  const std::string text = said([&] {
    Progress progress(pipeline);
    progress.step(step_of_a_millisecond(30));
    std::this_thread::sleep_for(std::chrono::milliseconds(1700));
    progress.evaluation(30, "val_loss", {{{"val/loss", 1.5}}, ""});
    progress.step(step_of_a_millisecond(31));
  });
  CHECK(text.find("step 30/40  loss 1.0000  64,000 tokens/s  elapsed <1 s  ETA <1 s\n") !=
        std::string::npos);
  CHECK(text.find("step 30: val/loss 1.5000\n") != std::string::npos);
  const size_t again = text.find("step 31/40  loss 1.0000  64,000 tokens/s  elapsed ");
  REQUIRE(again != std::string::npos);
  const std::string left = text.substr(text.find("ETA ", again) + 4);
  CHECK(std::stod(left) >= 1.7);
}
