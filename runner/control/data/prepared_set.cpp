#include "control/data/prepared_set.h"

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/manifest.h"
#include "control/data/own_folder.h"

namespace exprun {

namespace fs = std::filesystem;

std::optional<PreparedData> described_set(const fs::path& folder) try {
  if (manifest_problem(folder, Verify::sizes)) return std::nullopt;
  return PreparedData::from_json(read_file(folder / kDataDescription));
} catch (const Error&) {  // damaged
  return std::nullopt;
}

PreparedData load_set(const fs::path& folder) {
  return PreparedData::load(folder / kDataDescription, how_to_prepare_again(folder));
}

std::string how_to_prepare_again(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  return "move '" + (error ? folder : whole).string() +
         "' away and prepare the data again, with exprun data prepare or by a run of the recipe";
}

}  // namespace exprun
