#include "base/machine/system_usage.h"

#include <doctest/doctest.h>
#include <time.h>

#include <filesystem>
#include <map>

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
