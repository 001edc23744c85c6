// report --html FILE: the compared runs with their curves and samples, as one file for a browser.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "control/command/command.h"
#include "control/report/html/html_page.h"
#include "store/store.h"

namespace exprun {

// Adds the runs with what the page shows beside its columns, as much as it has room for; `order`
// names the runs by their place.
void add_runs(Page& page, const Store& store, const StoreFolder& folder,
              const std::vector<ReportedRun>& runs, const std::vector<size_t>& order);

// Writes the page, and again every two seconds, or less often if that would take more than a
// fiftieth of the time, as long as `goes_on` and nobody stops it, when `follow`. The file is
// replaced whole. `page` reads the store; `goes_on` tells of what it read last.
void write_page(const std::filesystem::path& file, bool follow, const std::function<Page()>& page,
                const std::function<bool()>& goes_on);

}  // namespace exprun
