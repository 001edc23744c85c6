// The runs of another store.
#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "base/diagnostic.h"
#include "store/metrics/metric_writer.h"
#include "tests/unit/store/children.h"
#include "tests/unit/store/clock_set_back.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

void write_steps(const std::filesystem::path& database, int64_t run, int64_t first, int64_t last,
                 double factor = 1) {
  MetricWriter writer(database, run);
  const auto loss = writer.series("loss", false);
  const auto speed = writer.series("speed", true);
  for (int64_t step = first; step <= last; ++step) {
    const double value = static_cast<double>(step) * factor;
    const MetricWriter::Point points[] = {{loss, value}, {speed, -value}};
    writer.push(step, points);
  }
}

std::string told(const Store::Merged& merged) {
  std::string text = std::to_string(merged.added) + " added, " + std::to_string(merged.updated) +
                     " updated, " + std::to_string(merged.unchanged) + " unchanged";
  for (const std::string& run : merged.kept_out) text += "; " + run;
  return text;
}

// Everything that does not depend on the numbers that a store gives.
std::string content(const Store& store) {
  std::string text;
  for (const char* sql :
       {"SELECT uid, name, state, steps, last_step, attempt, tags, folder, message FROM runs "
        "ORDER BY uid",
        "SELECT r.uid, a.attempt, a.from_step, a.last_step, a.state, a.version FROM attempt AS a "
        "JOIN run AS r ON r.id = a.run ORDER BY 1, 2",
        "SELECT r.uid, p.path, p.value, p.changed FROM parameters AS p JOIN run AS r ON r.id = "
        "p.run ORDER BY 1, 2",
        "SELECT r.uid, s.name, s.timing, s.count, s.last, s.last_step, s.min, s.min_step, s.max "
        "FROM series AS s JOIN run AS r ON r.id = s.run ORDER BY 1, 2",
        "SELECT r.uid, m.name, m.step, m.value FROM metrics AS m JOIN run AS r ON r.id = m.run "
        "ORDER BY 1, 2, 3",
        "SELECT r.uid, m.name, m.attempt, m.step, m.value FROM metrics_archived AS m JOIN run AS r "
        "ON r.id = m.run ORDER BY 1, 2, 3, 4",
        "SELECT r.uid, e.kind, e.text FROM event AS e JOIN run AS r ON r.id = e.run ORDER BY 1, 3",
        "SELECT r.uid, n.text FROM note AS n JOIN run AS r ON r.id = n.run ORDER BY 1, 2",
        "SELECT r.uid, c.step, c.folder FROM checkpoint AS c JOIN run AS r ON r.id = c.run "
        "ORDER BY 1, 2",
        "SELECT r.uid, k.kind, b.content FROM run_blob AS k JOIN blob AS b ON b.id = k.blob "
        "JOIN run AS r ON r.id = k.run ORDER BY 1, 2",
        "SELECT r.uid, k.attempt, k.kind, b.content FROM attempt_blob AS k JOIN blob AS b "
        "ON b.id = k.blob JOIN run AS r ON r.id = k.run ORDER BY 1, 2, 3",
        "SELECT w.uid, t.trial, t.changes, r.uid FROM trial AS t JOIN sweep AS w ON w.id = t.sweep "
        "LEFT JOIN run AS r ON r.id = t.run ORDER BY 1, 2"}) {
    for (const auto& row : store.query(sql).rows) {
      for (const auto& cell : row) text += cell.value_or("NULL") + " ";
      text += "\n";
    }
  }
  return text;
}

int64_t full_run(Store& store, const std::string& digits) {
  const SweepRow sweep = store.find_or_create_sweep("grid", "[\"space\"]");
  store.record_trials(sweep.id, {{1, "h1", "lr=1", {}}, {2, "h2", "lr=2", {}}});
  NewRun run = new_run(digits);
  run.tags = {"small"};
  run.sweep_id = sweep.id;
  run.trial = 2;
  run.provenance = {"0.1.0", "c0ffee", true, "{\"host\": \"box\"}", "diff --git a b"};
  const int64_t id = store.create_run(run);
  store.record_trial_run(sweep.id, 2, id);
  store.record_libraries(id, 1, "{\"libtorch\": \"2.11\"}");
  store.record_event({id, 5, "info", "start", "began"});
  store.record_checkpoint({id, 4, 1, 10, 20, "checkpoints/step_4"});
  store.add_note(id, "looks good");
  write_steps(store.file(), id, 1, 8);
  store.begin_attempt(id, 4);
  write_steps(store.file(), id, 5, 6, 10);
  store.end_attempt(id, RunState::interrupted, 130, std::nullopt, "stopped");
  return id;
}

// In a process of its own: takes the first run of a store off the disk once it has values.
pid_t purge_in_child(const std::filesystem::path& database) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  Store store(database, Store::Access::read_write);
  while (value_of(store, "SELECT EXISTS (SELECT 1 FROM metric)") == "0") ::usleep(100);
  store.remove_run(1);
  store.purge_run(1, [] {});
  ::_exit(0);
}

}  // namespace

TEST_CASE("merge: everything of a run comes along, and a second time changes nothing") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  store.create_run(new_run("ffff", "mine"));  // so that the numbers differ
  store.find_or_create_sweep("other", "[]");
  const std::string mine = content(store);
  Store other(there.database(), Store::Access::read_write);
  full_run(other, "1a");
  CHECK(told(store.merge(there.database(), kNobodyRuns)) == "1 added, 0 updated, 0 unchanged");
  const std::string both = content(store);
  for (const std::string& line : {mine, content(other)}) CHECK(both.size() > line.size());
  CHECK(told(store.merge(there.database(), kNobodyRuns)) == "0 added, 0 updated, 1 unchanged");
  CHECK(content(store) == both);
  store.remove_run(1);
  store.purge_run(1, [] {});
  CHECK(content(store) == content(other));
  CHECK(value_of(store, "SELECT count(*) FROM pragma_foreign_key_check") == "0");
}

TEST_CASE("merge: tags and notes that were made since come along") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  const int64_t theirs = full_run(other, "1a");
  store.merge(there.database(), kNobodyRuns);
  const int64_t ours = store.find_run("@last").id;
  store.add_note(ours, "mine");
  other.add_note(theirs, "theirs");
  other.add_tag(theirs, "good");
  CHECK(told(store.merge(there.database(), kNobodyRuns)) == "0 added, 1 updated, 0 unchanged");
  CHECK(told(store.merge(there.database(), kNobodyRuns)) == "0 added, 0 updated, 1 unchanged");
  CHECK(store.tags(ours) == std::vector<std::string>{"good", "small"});
  std::string notes;
  for (const NoteRow& note : store.notes(ours)) notes += note.text + ", ";
  CHECK(notes == "looks good, mine, theirs, ");
}

TEST_CASE("merge: a tag that was removed in either store stays removed until it is added again") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  const int64_t theirs = full_run(other, "1a");
  other.add_tag(theirs, "good");
  store.merge(there.database(), kNobodyRuns);
  const int64_t ours = store.find_run("@last").id;
  const auto merged = [&] { return told(store.merge(there.database(), kNobodyRuns)); };
  const std::string updated = "0 added, 1 updated, 0 unchanged";
  const std::string unchanged = "0 added, 0 updated, 1 unchanged";
  CHECK(store.remove_tag(ours, "small"));
  CHECK(merged() == unchanged);
  CHECK(store.tags(ours) == std::vector<std::string>{"good"});
  CHECK(other.remove_tag(theirs, "good"));
  CHECK(merged() == updated);
  CHECK(store.tags(ours).empty());
  other.add_tag(theirs, "good");
  CHECK(merged() == updated);
  CHECK(merged() == unchanged);
  CHECK(store.tags(ours) == std::vector<std::string>{"good"});
}

TEST_CASE("merge: @last is the run that began last, not the one that came last") {
  const DatabaseFolder here, there;
  Store other(there.database(), Store::Access::read_write);
  {
    const ClockSetBack before(std::chrono::hours(1));
    full_run(other, "1a");
  }
  Store store(here.database(), Store::Access::read_write);
  const int64_t mine = store.create_run(new_run("ffff", "mine"));
  store.merge(there.database(), kNobodyRuns);
  CHECK(store.find_run("@last").id == mine);
}

TEST_CASE("merge: the newest is the run or sweep that began last, wherever one is meant") {
  const DatabaseFolder here, there;
  Store other(there.database(), Store::Access::read_write);
  {
    const ClockSetBack before(std::chrono::hours(2));
    full_run(other, "1a");
  }
  {
    const ClockSetBack before(std::chrono::hours(1));
    other.create_run(new_run("2b"));
    other.find_or_create_sweep("grid", "[\"later\"]");
  }
  Store store(here.database(), Store::Access::read_write);
  const int64_t mine = store.create_run(new_run("ffff"));
  const int64_t sweep = store.find_or_create_sweep("grid", "[\"mine\"]").id;
  store.merge(there.database(), kNobodyRuns);
  CHECK(store.find_run("quickstart").id == mine);
  CHECK(store.find_sweep("@last").id == sweep);
  CHECK(store.find_sweep("grid").id == sweep);
  CHECK(store.sweeps().front().id == sweep);
  std::string uids, ids;
  for (const RunRow& run : store.runs("quickstart")) {
    uids += run.uid.substr(0, 2) + ' ';
    ids += std::to_string(run.id) + ' ';
  }
  CHECK(uids == "ff 2b 1a ");
  CHECK(ids == "1 3 2 ");
  CHECK(value_of(store,
                 "SELECT group_concat(space, ' ') FROM (SELECT b.content AS space FROM sweep "
                 "AS w JOIN blob AS b ON b.id = w.space ORDER BY w.id)") ==
        "[\"mine\"] [\"space\"] [\"later\"]");
}

TEST_CASE("merge: a trial that shares the run of an earlier sweep keeps it, in older merges too") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  const int64_t shared = full_run(other, "1a");
  other.end_attempt(shared, RunState::finished, 0, std::nullopt, "");
  const SweepRow second = other.find_or_create_sweep("wider", "[\"more\"]");
  other.record_trials(second.id, {{1, "h2", "lr=2", shared}, {2, "h3", "lr=3", {}}});
  other.record_trial_problem(second.id, 2, "no room");
  store.merge(there.database(), kNobodyRuns);
  CHECK(content(store) == content(other));
  const std::string trials =
      "SELECT group_concat(state, ' ') FROM (SELECT state FROM trials WHERE "
      "sweep_name = 'wider' ORDER BY trial)";
  CHECK(value_of(store, trials) == "finished failed");
  const SweepRow copy = store.find_sweep("wider");
  SQLite::Database(here.database().string(), SQLite::OPEN_READWRITE)  // as merges once left it
      .exec("UPDATE trial SET run = NULL, problem = '' WHERE sweep = " + std::to_string(copy.id));
  CHECK(value_of(store, trials) == "waiting waiting");
  CHECK(told(store.merge(there.database(), kNobodyRuns)) == "0 added, 0 updated, 1 unchanged");
  CHECK(value_of(store, trials) == "finished failed");
}

TEST_CASE("merge: a trial whose run was removed there does not wait here") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  other.remove_run(full_run(other, "1a"));
  other.remove_run(other.create_run(new_run("2b")));  // of no trial
  const std::string states =
      "SELECT group_concat(state, ' ') FROM (SELECT state FROM trials ORDER BY trial)";
  CHECK(value_of(other, states) == "waiting removed");
  CHECK(told(store.merge(there.database(), kNobodyRuns)) == "0 added, 0 updated, 0 unchanged");
  CHECK(value_of(store, states) == "waiting removed");
  CHECK(store.runs().empty());
  CHECK(store.removed_runs().size() == 1);
  CHECK(told(store.merge(there.database(), kNobodyRuns)) == "0 added, 0 updated, 0 unchanged");
}

TEST_CASE("merge: a trial whose run was purged there does not wait here") {
  const DatabaseFolder here, there, third;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  const int64_t id = full_run(other, "1a");
  other.remove_run(id);
  other.purge_run(id, [] {});
  const std::string states =
      "SELECT group_concat(state, ' ') FROM (SELECT state FROM trials ORDER BY trial)";
  store.merge(there.database(), kNobodyRuns);
  CHECK(value_of(store, states) == "waiting removed");
  Store trained(third.database(), Store::Access::read_write);
  full_run(trained, "2b");
  store.merge(third.database(), kNobodyRuns);
  CHECK(value_of(store, states) == "waiting interrupted");
  trained.merge(there.database(), kNobodyRuns);
  CHECK(value_of(trained, states) == "waiting interrupted");
}

TEST_CASE("merge: results of eval come along, but none that was measured with other settings") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  const int64_t theirs = full_run(other, "1a");
  const auto merged = [&] { return told(store.merge(there.database(), kNobodyRuns)); };
  CHECK(merged() == "1 added, 0 updated, 0 unchanged");
  const int64_t ours = store.runs().front().id;
  const auto evaluate = [](Store& in, int64_t run, const std::string& path, double loss) {
    const std::string settings = R"({"series":["eval/text/loss"],"settings":{"path":")" + path;
    if (!path.empty()) in.record_event({run, 0, "info", "evaluation", settings + "\"}}"});
    in.record_evaluation(run, 8, {{path.empty() ? "val/loss" : "text/loss", loss}});
  };
  const auto results = [](const Store& in) {
    return value_of(in,
                    "SELECT group_concat(name || ' ' || value, ', ') FROM (SELECT name, value "
                    "FROM metrics WHERE name LIKE 'eval/%' ORDER BY name, step)") +
           "; " + value_of(in, "SELECT count(*) FROM event WHERE kind = 'evaluation'");
  };
  evaluate(other, theirs, "", 3);
  evaluate(other, theirs, "a.txt", 4);
  CHECK(merged() == "0 added, 1 updated, 0 unchanged");
  CHECK(results(store) == "eval/text/loss 4.0, eval/val/loss 3.0; 1");
  CHECK(value_of(store, "SELECT last FROM series WHERE name = 'eval/text/loss'") == "4");
  CHECK(merged() == "0 added, 0 updated, 1 unchanged");
  other.record_evaluation(theirs, 4, {{"val/loss", 3.5}, {"text/loss", 4.5}});
  CHECK(merged() == "0 added, 1 updated, 0 unchanged");
  CHECK(results(store) ==
        "eval/text/loss 4.5, eval/text/loss 4.0, eval/val/loss 3.5, eval/val/loss 3.0; 1");

  const std::string before = results(store);
  const DatabaseFolder third;
  Store with_b(third.database(), Store::Access::read_write);
  evaluate(with_b, full_run(with_b, "1a"), "b.txt", 7);
  with_b.record_evaluation(with_b.runs().front().id, 8, {{"val/loss", 9}});
  store.merge(third.database(), kNobodyRuns);
  CHECK(store.runs().front().id == ours);
  CHECK(results(store) == before);  // that of b.txt is another quantity; ours stands for the rest
}

TEST_CASE("merge: of two runs of a trial, the one that came further is the trial's") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  full_run(store, "1a");  // interrupted
  const int64_t theirs = full_run(other, "2b");
  const auto run_of_trial = [](const Store& of) {
    return value_of(of, "SELECT substr(r.uid, 1, 2) FROM trial AS t JOIN run AS r ON r.id = t.run");
  };
  store.merge(there.database(), kNobodyRuns);
  CHECK(run_of_trial(store) == "1a");
  ::usleep(2000);  // how far a run has come is told by the millisecond
  other.end_attempt(theirs, RunState::finished, 0, std::nullopt, "");
  store.merge(there.database(), kNobodyRuns);
  CHECK(run_of_trial(store) == "2b");
  other.merge(here.database(), kNobodyRuns);
  CHECK(run_of_trial(other) == "2b");
}

TEST_CASE("merge: a run that went on elsewhere is brought further, rewinds too") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  const int64_t id = full_run(other, "1a");
  store.merge(there.database(), kNobodyRuns);
  other.begin_attempt(id, 2);
  write_steps(there.database(), id, 3, 4, 100);
  other.end_attempt(id, RunState::finished, 0, std::nullopt, "");
  CHECK(told(store.merge(there.database(), kNobodyRuns)) == "0 added, 1 updated, 0 unchanged");
  CHECK(content(store) == content(other));
  CHECK(told(store.merge(there.database(), kNobodyRuns)) == "0 added, 0 updated, 1 unchanged");
  // And back: the other store has nothing to learn.
  CHECK(told(other.merge(here.database(), kNobodyRuns)) == "0 added, 0 updated, 1 unchanged");
}

TEST_CASE("merge: what both stores continued, and what still runs, is kept out and named") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  const int64_t id = full_run(other, "1a");
  store.merge(there.database(), kNobodyRuns);
  other.create_run(new_run("2b", "alive"));
  store.begin_attempt(1, 4);
  store.end_attempt(1, RunState::finished, 0, std::nullopt, "");
  ::usleep(2000);  // the attempts are told apart by the millisecond of their beginning
  other.begin_attempt(id, 4);
  const std::string before = content(store);
  CHECK(
      told(store.merge(there.database(), [](const RunRow& run) { return run.name == "alive"; })) ==
      "0 added, 0 updated, 0 unchanged; quickstart-1a000000: it was continued separately in both "
      "stores; alive-2b000000: it is still running");
  CHECK(content(store) == before);
}

TEST_CASE("merge: a store that cannot be written to is merged, and stays as it is") {
  if (::geteuid() != 0) return;  // only root can become somebody who may not write
  const DatabaseFolder here, there;
  std::filesystem::permissions(there.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(here.path(), std::filesystem::perms(0777));
  {
    Store other(there.database(), Store::Access::read_write);
    const int64_t purged = full_run(other, "1a");
    other.remove_run(purged);
    other.purge_run(purged, [] {});
    other.end_attempt(other.create_run(new_run("2b")), RunState::finished, 0, std::nullopt, "");
  }
  const int failed = failures_of_children(1, [&](int) {
    if (::setuid(65534) != 0) throw std::runtime_error("cannot become nobody");
    Store store(here.database(), Store::Access::read_write);
    const std::string merged = told(store.merge(there.database(), kNobodyRuns));
    if (merged != "1 added, 0 updated, 0 unchanged") throw std::runtime_error(merged);
  });
  CHECK(failed == 0);
  const Store store(here.database(), Store::Access::read_only);
  CHECK(content(store) == content(Store(there.database(), Store::Access::read_only)));
  CHECK(value_of(store,
                 "SELECT group_concat(state, ' ') FROM (SELECT state FROM trials "
                 "ORDER BY trial)") == "waiting removed");
}

TEST_CASE("merge: what is no other store is refused") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  CHECK_THROWS_WITH_AS(
      store.merge(here.database(), kNobodyRuns),
      ("store: cannot merge '" + here.database().string() + "': it is this store itself").c_str(),
      Error);
  CHECK_THROWS_AS(store.merge(there.database(), kNobodyRuns), Error);
  CHECK(!std::filesystem::exists(there.database()));
}

TEST_CASE("merge: a run that is purged meanwhile leaves no value behind, and the merge says so") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  write_steps(there.database(), other.create_run(new_run("1a")), 1, 100'000);
  const pid_t child = purge_in_child(here.database());
  CHECK_THROWS_WITH_AS(store.merge(there.database(), kNobodyRuns),
                       doctest::Contains("a run was removed and purged while it was merged"),
                       Error);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(value_of(store, "SELECT count(*) FROM all_runs") == "0");
  CHECK(value_of(store, "SELECT count(*) FROM metric") == "0");
}
