#include "engine/checkpoint/checkpoint.h"

#include <doctest/doctest.h>

#include <fstream>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "engine/checkpoint/checkpoint_writer.h"
#include "engine/checkpoint/open_checkpoint.h"
#include "engine/tiny_run.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

struct Ledger : CheckpointLedger {
  void before_commit() override { calls.push_back("flush"); }
  void record(int64_t step, int64_t bytes) override {
    calls.push_back("record " + std::to_string(step) + (bytes > 0 ? "" : " empty"));
  }
  void forget(int64_t step) override { calls.push_back("forget " + std::to_string(step)); }
  std::vector<std::string> calls;
};

// What a writer of checkpoints works with.
struct WritersRun {
  const TinyRun run;
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  Ledger ledger;
  const RunFolder folder{run.folder()};
};

Position at_step(int64_t step) {
  return {step, {"val_loss"}, Best{1.5, step - 1}, 2, {1024, 7}};
}

void flip_a_byte(const fs::path& file) {
  std::string bytes = read_file(file);
  bytes[bytes.size() - 1] = static_cast<char>(bytes.back() ^ 1);
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST_CASE("checkpoint: tensors and state come back into another pipeline") {
  const TinyRun run;
  const Pipeline pipeline = run.build();
  MemoryRecorder recorder;
  Trainer(pipeline, {recorder, nullptr, stop_at_look(30)}).run();
  const fs::path folder = run.folder() / "step_00000005";
  write_checkpoint(take_snapshot(pipeline, at_step(5)), folder);

  const CheckpointState state = open_checkpoint(folder, run.recipe.hash(), run.data.fingerprint);
  CHECK(state.position.step == 5);
  CHECK(state.position.evaluated == std::set<std::string>{"val_loss"});
  CHECK(state.position.best->value == 1.5);
  CHECK(state.tokens == 5 * 128);
  CHECK(state.environment.threads == numeric_environment().threads);

  const Pipeline other = run.build();
  load_tensors(folder, other);
  for (const auto& [name, tensor] : all_tensors(pipeline)) {
    CAPTURE(name);
    CHECK(tensor.equal(all_tensors(other).at(name)));
  }
}

TEST_CASE("checkpoint: a flipped byte, a missing file, another recipe or data are refused") {
  const TinyRun run;
  const fs::path folder = run.folder() / "step_00000005";
  write_checkpoint(take_snapshot(run.build(), at_step(5)), folder);
  const std::string hash = run.recipe.hash(), fingerprint = run.data.fingerprint;
  const std::string quoted = "checkpoint: '" + folder.string() + "'";

  CHECK_THROWS_WITH_AS(open_checkpoint(folder, "ffffffff00000000", fingerprint),
                       (quoted + " was made with a different recipe (" + hash.substr(0, 8) +
                        ", now ffffffff); start a new run for the changed recipe")
                           .c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(
      open_checkpoint(folder, hash, "ffffffff00000000"),
      (quoted + " was made with different data (01234567, now ffffffff); restore the files that it "
                "was trained on, or start a new run")
          .c_str(),
      Error);

  flip_a_byte(folder / "model.safetensors");
  try {
    open_checkpoint(folder, hash, fingerprint);
    FAIL("a flipped byte was not seen");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).starts_with(quoted + " is damaged: model.safetensors"));
  }
  fs::remove(folder / "optimizer.safetensors");
  CHECK_THROWS_AS(open_checkpoint(folder, hash, fingerprint), Error);
}

TEST_CASE("checkpoint: tensors of another model are refused by name") {
  const TinyRun small, wide({"hidden_size=64"}), deep({"num_layers=3"});
  const fs::path folder = small.folder() / "step_00000001";
  write_checkpoint(take_snapshot(small.build(), at_step(1)), folder);
  const std::string file = "'" + (folder / "model.safetensors").string() + "'";
  CHECK_THROWS_WITH_AS(load_tensors(folder, wide.build()),
                       ("checkpoint: 'token_embedding.weight' in " + file +
                        " has a different shape or dtype than in the recipe's model")
                           .c_str(),
                       Error);
  CHECK_THROWS_AS(load_tensors(folder, deep.build()), Error);
}

TEST_CASE("checkpoint: a newer format is refused") {
  const TinyRun run;
  const fs::path folder = run.folder() / "step_00000001";
  fs::create_directories(folder);
  const fs::path file = folder / "state.json";
  std::ofstream(file) << R"({"format_version": 99})";
  CHECK_THROWS_WITH_AS(
      read_checkpoint_state(folder),
      ("checkpoint: '" + file.string() +
       "' has format 99, but this exprun reads formats up to 1; use the exprun that wrote "
       "it, or a newer one")
          .c_str(),
      Error);
}

TEST_CASE_FIXTURE(
    WritersRun,
    "checkpoint writer: metrics first, then the folder, then its row, then the old ones") {
  CheckpointWriter writer(folder, ledger, recorder, std::nullopt);
  for (const int64_t step : {10, 20}) writer.save(pipeline, at_step(step));
  writer.save_last(pipeline, at_step(30));
  writer.save_last(pipeline, at_step(30));  // is there already
  CHECK(ledger.calls == std::vector<std::string>{"flush", "record 10", "flush", "record 20",
                                                 "flush", "record 30", "forget 10"});
  const auto found = complete_checkpoints(folder);
  REQUIRE(found.size() == 2);
  CHECK(found[0].step == 30);
  CHECK(found[1].step == 20);
  CHECK(recorder.events.empty());
}

TEST_CASE_FIXTURE(
    WritersRun,
    "checkpoint writer: what cannot be written is an event, but the last one an error") {
  std::ofstream(folder.checkpoints()) << "a file where the folder should be";
  CheckpointWriter writer(folder, ledger, recorder, std::nullopt);
  writer.save(pipeline, at_step(10));
  CHECK_THROWS_AS(writer.save_last(pipeline, at_step(20)), Error);
  REQUIRE(recorder.events.size() == 1);
  CHECK(recorder.events[0].starts_with(
      "warning checkpoint: the checkpoint of step 10 was not written; training continues: "));
}

TEST_CASE_FIXTURE(
    WritersRun,
    "checkpoint writer: the last one is written again when its step has been evaluated") {
  const Position stopped{30, {}, Best{1.5, 20}, 0, {}};
  write_checkpoint(take_snapshot(pipeline, stopped), folder.checkpoints() / checkpoint_name(30));
  CheckpointWriter writer(folder, ledger, recorder, stopped);
  writer.save_last(pipeline, stopped);
  CHECK(ledger.calls.empty());
  const Position finished{30, {"val_loss"}, Best{1.25, 30}, 0, {}};
  writer.save_last(pipeline, finished);
  CHECK((read_checkpoint_state(folder.checkpoints() / checkpoint_name(30)).position == finished));
}

TEST_CASE_FIXTURE(WritersRun,
                  "checkpoint writer: a failure in the background is told although none follows") {
  std::ofstream(folder.checkpoints()) << "a file where the folder should be";
  CheckpointWriter(folder, ledger, recorder, std::nullopt).save(pipeline, at_step(10));
  REQUIRE(recorder.events.size() == 1);
  CHECK(recorder.events[0].starts_with("warning checkpoint: the checkpoint of step 10 was not"));
}

TEST_CASE_FIXTURE(WritersRun,
                  "checkpoint writer: who waits finds what was begun in the background") {
  CheckpointWriter writer(folder, ledger, recorder, std::nullopt);
  writer.wait();
  writer.save(pipeline, at_step(10));
  writer.wait();
  CHECK(ledger.calls == std::vector<std::string>{"flush", "record 10"});
  CHECK(complete_checkpoints(folder).size() == 1);
}

TEST_CASE_FIXTURE(WritersRun, "checkpoint writer: what a death within a removal left is removed") {
  const fs::path old = folder.checkpoints() / (checkpoint_name(10) + ".tmp-old");
  fs::create_directories(old / "inner");
  CheckpointWriter writer(folder, ledger, recorder, std::nullopt);
  CHECK_FALSE(fs::exists(old));
  for (const int64_t step : {10, 20}) writer.save(pipeline, at_step(step));
  fs::create_directories(old / "inner");
  writer.save_last(pipeline, at_step(30));
  CHECK_FALSE(fs::exists(old));
  CHECK_FALSE(fs::exists(folder.checkpoints() / checkpoint_name(10)));
}

TEST_CASE_FIXTURE(
    WritersRun,
    "checkpoint writer: newer checkpoints of an earlier attempt do not push out new ones") {
  for (const int64_t step : {80, 90})
    write_checkpoint(take_snapshot(pipeline, at_step(step)),
                     folder.checkpoints() / checkpoint_name(step));
  CheckpointWriter writer(folder, ledger, recorder, at_step(10));
  writer.save_last(pipeline, at_step(20));
  CHECK(fs::exists(folder.checkpoints() / checkpoint_name(20)));
}

}  // namespace
}  // namespace exprun
