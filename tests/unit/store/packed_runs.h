// Runs with values that are easily lost, and all that a store says of them: before and after they
// are packed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "store/store.h"

namespace exprun {

// Steps first..last: a value each, one each third step, one that is always another number.
void write_values(const std::filesystem::path& database, int64_t run, int64_t first, int64_t last);

// A finished run with the values of steps 1..steps.
int64_t ended_run(Store& store, const std::string& digits, int64_t steps);

// All rows of a query, with the types of their values.
std::string all_of(const Store& store, const std::string& sql);

// Every value as the program reads it, as plain SQL does, and the summaries.
std::string everything(const Store& store);

// What doctor says of them.
std::string values_health(const Store& store);
void check_sound(const Store& store);

// "3 rows, 2 packs"
std::string rows_and_packs(const Store& store);

}  // namespace exprun
