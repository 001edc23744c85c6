#include "base/machine/memory_use.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <string>

#include "support/temporary_folder.h"

using namespace exprun;

TEST_CASE("memory use: a machine has what its container may take, and no more than is in it") {
  const TemporaryFolder folder;
  const double physical =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  const auto bytes_with = [&](const std::string& limit) {
    folder.write("memory.max", limit + "\n");
    return memory_use(folder.path()).machine_bytes;
  };
  CHECK(memory_use(folder.path() / "missing").machine_bytes == physical);
  CHECK(bytes_with("max") == physical);
  CHECK(bytes_with("67108864") == 67108864);
  CHECK(bytes_with("9223372036854771712") == physical);
}
