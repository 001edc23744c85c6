#include "base/files/disk_reserve.h"

#include <doctest/doctest.h>
#include <sys/mount.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "support/file_size_limit.h"
#include "support/temporary_folder.h"

using namespace exprun;
namespace fs = std::filesystem;

TEST_CASE("disk reserve: it stays where there is room") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "reserve";
  keep_disk_reserve(file);
  CHECK(fs::file_size(file) == 256 << 10);
  const UsedDiskReserve used(file);
  CHECK(fs::file_size(file) == 256 << 10);
}

TEST_CASE("disk reserve: a disk that has little left is not written to in order to find out") {
  const TemporaryFolder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=2m") != 0) return;  // root only
  const fs::path file = folder.path() / "reserve";
  const auto before = fs::last_write_time(folder.path()) - std::chrono::hours(1);
  fs::last_write_time(folder.path(), before);
  keep_disk_reserve(file);
  CHECK(!fs::exists(file));
  CHECK(fs::last_write_time(folder.path()) == before);
  { std::ofstream(file) << std::string(256 << 10, 'x'); }
  { std::ofstream(folder.path() / "filler") << std::string(1 << 20, 'x'); }
  {
    const UsedDiskReserve used(file);
    CHECK(!fs::exists(file));
  }
  CHECK(fs::file_size(file) == 256 << 10);
  CHECK(::umount(folder.path().c_str()) == 0);
}

// As with a quota, the disk itself has room.
TEST_CASE("disk reserve: it is released where nothing more may be written, until the end") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "reserve";
  keep_disk_reserve(file);
  const FileSizeLimit limit(512 << 10);
  {
    const UsedDiskReserve used(file);
    CHECK(!fs::exists(file));
    keep_disk_reserve(file);
    CHECK(!fs::exists(file));
  }
  CHECK(fs::file_size(file) == 256 << 10);
}
