#include "control/launch/run/which_run.h"

#include <doctest/doctest.h>

#include "control/launch/run/new_run.h"
#include "control/launch/run/recipe_difference.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

RunRow row(int64_t id, RunState state) {
  RunRow row;
  row.id = id;
  row.state = state;
  row.last_step = 10;
  return row;
}

}  // namespace

TEST_CASE("which run: without an equal run, or with --new, a new one starts") {
  CHECK(which_run({}, false).decision == Decision::start_new);
  CHECK(which_run({row(1, RunState::running)}, true).decision == Decision::start_new);
  CHECK(!which_run({row(1, RunState::running)}, true).run);
}

TEST_CASE("which run: what ended before its time is continued") {
  for (const RunState state :
       {RunState::interrupted, RunState::preempted, RunState::killed, RunState::crashed}) {
    const WhichRun which = which_run({row(7, state)}, false);
    CHECK(which.decision == Decision::continue_run);
    CHECK(which.run->id == 7);
  }
}

TEST_CASE("which run: what failed before it trained is tried again") {
  RunRow failed = row(7, RunState::failed);
  failed.from_step = 9;
  CHECK(which_run({failed}, false).decision == Decision::refuse_ended);
  failed.from_step = 10;  // as the attempt before it had saved
  CHECK(which_run({failed}, false).decision == Decision::continue_run);
  failed.from_step = failed.last_step = 0;
  CHECK(which_run({failed}, false).decision == Decision::continue_run);
}

TEST_CASE("which run: running, finished, failed and diverged are told apart") {
  CHECK(which_run({row(1, RunState::running)}, false).decision == Decision::refuse_running);
  CHECK(which_run({row(1, RunState::finished)}, false).decision == Decision::show_result);
  for (const RunState state : {RunState::failed, RunState::diverged, RunState::pruned})
    CHECK(which_run({row(1, state)}, false).decision == Decision::refuse_ended);
}

TEST_CASE("which run: the newest run decides") {
  const WhichRun which =
      which_run({row(9, RunState::failed), row(3, RunState::interrupted)}, false);
  CHECK(which.decision == Decision::refuse_ended);
  CHECK(which.run->id == 9);
}

TEST_CASE(
    "which run: those on the data that the recipe names now come first, of those with a folder") {
  const TemporaryFolder folder;
  const StoreFolder store{folder.path(), folder.path()};
  const auto on = [&](int64_t id, const std::string& data, bool is_here = true) {
    RunRow run = row(id, RunState::finished);
    run.data_fingerprint = data;
    run.folder = "tiny-" + std::to_string(id);
    if (is_here) std::filesystem::create_directory(folder.path() / run.folder);
    return run;
  };
  int asked = 0;
  const auto order = [&](std::vector<RunRow> runs, const std::optional<std::string>& data) {
    std::vector<int64_t> ids;
    for (const RunRow& run : meant_first(store, std::move(runs), [&] { return ++asked, data; }))
      ids.push_back(run.id);
    return ids;
  };
  using Ids = std::vector<int64_t>;
  folder.write("tiny-5", "a file is no folder of a run");
  const std::vector<RunRow> runs{on(5, "a", false), on(4, "b"), on(3, "a"), on(2, "b"), on(1, "a")};
  CHECK(order(runs, "a") == Ids{3, 1, 4, 2, 5});
  CHECK(order(runs, "b") == Ids{4, 2, 3, 1, 5});
  CHECK(order(runs, "c") == Ids{4, 3, 2, 1, 5});
  CHECK(order(runs, std::nullopt) == Ids{4, 3, 2, 1, 5});
  CHECK(asked == 4);
  CHECK(order({on(7, "a"), on(6, "a")}, "b") == Ids{7, 6});
  CHECK(asked == 4);
}

TEST_CASE("difference: what one of them changed is shown with the default of the other") {
  CHECK(describe_difference({{"optimizer.lr", "0.1", true},
                             {"run.seed", "2", true},
                             {"model.bias", "true", false},
                             {"run.device", "\"cpu\"", false}},
                            {{"optimizer.lr", "0.01", true},
                             {"run.seed", "1337", false},
                             {"model.bias", "false", true},
                             {"run.device", "\"auto\"", false}},
                            "a-1", "") ==
        "new run; differs from a-1: optimizer.lr: 0.1 (was 0.01), run.seed: 2 (was 1337), "
        "model.bias: true (was false)");
  CHECK(describe_difference({}, {{"model.window", "8", true}}, "a-1", "") ==
        "new run; differs from a-1: model.window: not set (was 8)");
  CHECK(describe_difference({}, {}, "a-1", "") == "new run, with the same settings as a-1");
  CHECK(describe_difference({}, {}, "a-1", "text.txt has changed since") ==
        "new run; differs from a-1: data: text.txt has changed since");
}

TEST_CASE("difference: a long list is cut") {
  std::vector<ParameterRow> now;
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) now.push_back({key, "1", true});
  CHECK(describe_difference(now, {}, "r", "").ends_with("d: 1 (was not set) and 2 more"));
}

TEST_CASE("uid: 32 hex digits, never the same, eight of them in the folder") {
  const std::string uid = make_uid();
  CHECK(uid.size() == 32);
  CHECK(uid.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(make_uid() != uid);
  CHECK(run_folder_name("quickstart", "1a2b3c4d5e6f") == "quickstart-1a2b3c4d");
}
