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

// What the page shows beside its columns; `order` names the runs by their place.
std::vector<PageRun> page_runs(const Store& store, const StoreFolder& folder,
                               const std::vector<ReportedRun>& runs,
                               const std::vector<size_t>& order);

// Writes the page, and again every two seconds as long as one of its runs trains and nobody stops
// it, when `follow`. The file is replaced whole. `page` reads the store; `trains` tells of the page
// that it gave last.
void write_page(const std::filesystem::path& file, bool follow, const std::function<Page()>& page,
                const std::function<bool()>& trains);

}  // namespace exprun
