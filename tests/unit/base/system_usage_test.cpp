#include "base/machine/system_usage.h"

#include <doctest/doctest.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "support/temporary_folder.h"

using namespace exprun;

namespace {

std::map<std::string, double> read(SystemUsage& usage) {
  std::map<std::string, double> values;
  for (const auto& [name, value] : usage.read()) values[name] = value;
  return values;
}

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

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

TEST_CASE("system usage: a process that computes, its machine and its disk") {
  SystemUsage usage(std::filesystem::temp_directory_path());
  CHECK(read(usage).count("system/process_cpu_percent") == 0);  // since when?
  const double start = processor_seconds();
  while (processor_seconds() < start + 0.05) continue;
  const auto values = read(usage);
  CHECK(values.at("system/process_cpu_percent") > 0);
  CHECK(values.at("system/process_memory_bytes") > 1 << 20);
  CHECK(values.at("system/load") >= 0);
  CHECK(values.at("system/memory_available_bytes") > 1 << 20);
  CHECK(values.at("system/disk_free_bytes") >= 0);
}

TEST_CASE("system usage: what cannot be known is left out") {
  SystemUsage usage("/no/such/folder");
  const auto values = read(usage);
  CHECK(values.count("system/disk_free_bytes") == 0);
  CHECK(values.count("system/process_memory_bytes") == 1);
}
