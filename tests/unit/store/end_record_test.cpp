// The end of a run that the store could not take.
#include "store/end_record.h"

#include <doctest/doctest.h>
#include <sys/mount.h>

#include <fstream>

#include "base/files/file_lock.h"
#include "store/run_state.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

EndRecord stopped(int64_t attempt) {
  return {attempt, 4'000'000'000'000, RunState::interrupted,
          130,     std::nullopt,      "stopped \"here\"\n"};
}

}  // namespace

TEST_CASE("end record: it is the state of the run, and the store records it when it can") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a2b3c4d"));
  const auto lock_file = folder.path() / "quickstart-1a2b3c4d" / "run.lock";
  std::filesystem::create_directory(lock_file.parent_path());
  const auto lock = FileLock::take(lock_file);
  reserve_end_record(lock.fd());
  CHECK(as_observed(*store.run(id), folder.path()).state == RunState::running);
  write_end_record(lock.fd(), stopped(1), lock_file);
  const RunRow seen = as_observed(*store.run(id), folder.path());
  CHECK(seen.state == RunState::interrupted);
  CHECK(seen.exit_code == 130);
  CHECK(seen.message == "stopped \"here\"\n");
  CHECK(store.run(id)->state == RunState::running);
  store.reconcile_all();
  const RunRow recorded = *store.run(id);
  CHECK(recorded.state == RunState::interrupted);
  CHECK(recorded.ended_ms == 4'000'000'000'000);
  CHECK(!recorded.signal);

  store.begin_attempt(id, 0);  // its record is not that of the attempt before
  CHECK(as_observed(*store.run(id), folder.path()).state == RunState::running);
}

TEST_CASE("end record: damaged or missing ones say nothing, and a long message is cut") {
  const DatabaseFolder folder;
  const auto lock_file = folder.path() / "run.lock";
  CHECK(!end_record(lock_file, 1));
  const auto lock = FileLock::take(lock_file);
  EndRecord record = stopped(1);
  record.message = std::string(100'000, '\x01');
  write_end_record(lock.fd(), record, lock_file);
  CHECK(end_record(lock_file, 1)->message.size() > 300);
  CHECK(std::filesystem::file_size(lock_file) <= 4096);
  CHECK(!end_record(lock_file, 2));
  std::fstream(lock_file, std::ios::in | std::ios::out) << "0123";
  CHECK(!end_record(lock_file, 1));
}

TEST_CASE("end record: a disk full to the last byte has room for them") {
  const DatabaseFolder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) return;  // root only
  {
    const auto lock_file = folder.path() / "run.lock";
    const auto lock = FileLock::take(lock_file);
    reserve_end_record(lock.fd());
    { std::ofstream(folder.path() / "filler") << std::string(2 << 20, 'x'); }
    write_end_record(lock.fd(), stopped(7), lock_file);
    CHECK(end_record(lock_file, 7)->state == RunState::interrupted);
  }
  CHECK(::umount(folder.path().c_str()) == 0);
}

TEST_CASE(
    "end record: written where the store cannot take the end, or the store's error is thrown") {
  const DatabaseFolder folder;
  const auto lock_file = folder.path() / "run.lock";
  const auto refuse = [] { throw Error("store: refused"); };
  CHECK_THROWS_WITH_AS(record_in_store_or_lock_file(stopped(1), lock_file, refuse),
                       "store: refused", Error);
  const auto lock = FileLock::take(lock_file);
  CHECK(!record_in_store_or_lock_file(stopped(1), lock_file, [] {}));
  CHECK(!end_record(lock_file, 1));
  const auto trouble = record_in_store_or_lock_file(stopped(1), lock_file, refuse);
  REQUIRE(trouble);
  CHECK(trouble->what() == std::string("store: refused"));
  CHECK(end_record(lock_file, 1)->state == RunState::interrupted);
}

TEST_CASE("end record: who holds the lock file needs neither to find nor to open it") {
  const DatabaseFolder folder;
  const auto lock_file = folder.path() / "run.lock", moved = folder.path() / "moved.lock";
  const auto lock = FileLock::take(lock_file);
  std::filesystem::rename(lock_file, moved);
  const auto refuse = [] { throw Error("store: refused"); };
  CHECK_THROWS_AS(record_in_store_or_lock_file(stopped(1), lock_file, refuse), Error);
  CHECK(record_in_store_or_lock_file(stopped(1), lock_file, refuse, lock.fd()));
  CHECK(end_record(moved, 1)->state == RunState::interrupted);
}
