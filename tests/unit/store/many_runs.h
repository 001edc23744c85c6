// A store of thousands of runs: for the test of its size, and for the benchmark of reading it.
#pragma once

#include <filesystem>

namespace exprun {

// Runs first..last, of 10 series with so many values and 20 parameters each, as a bulk of rows:
// making each by create_run would take a minute of syncs.
void add_runs(const std::filesystem::path& database_file, int first, int last, int points = 10);

}  // namespace exprun
