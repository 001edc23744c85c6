#include "control/data/fetch/space.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "base/humane.h"

namespace exprun {

void check_space(const std::vector<Download>& downloads, const std::filesystem::path& folder,
                 std::optional<int64_t> free) {
  int64_t needed = 0;
  for (const Download& download : downloads)
    needed += std::max<int64_t>(0, download.bytes - bytes_begun(download));
  if (free && needed > *free)
    throw Error("data fetch: " + binary_bytes(static_cast<double>(needed)) + " are needed in '" +
                folder.string() + "', and " + binary_bytes(static_cast<double>(*free)) +
                " are free; ask for fewer --shards, or another folder with --to");
}

}  // namespace exprun
