#include "base/files/disk_reserve.h"

#include <doctest/doctest.h>

#include <filesystem>

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
