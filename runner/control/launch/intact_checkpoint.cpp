#include "control/launch/intact_checkpoint.h"

#include "base/log.h"
#include "base/manifest.h"
#include "control/launch/finite_weights.h"

namespace exprun {

std::optional<CheckpointFolder> newest_intact(const RunFolder& folder,
                                              std::vector<std::string>& passed_over, bool finite) {
  for (const CheckpointFolder& checkpoint : complete_checkpoints(folder, &passed_over)) {
    auto problem = manifest_problem(checkpoint.path, Verify::hashes);
    if (!problem && finite) problem = non_finite_tensor(checkpoint.path);
    if (!problem) return checkpoint;
    passed_over.push_back(checkpoint.path.filename().string() + ": " + *problem);
  }
  return std::nullopt;
}

void warn_of(const std::vector<std::string>& passed_over) {
  for (const std::string& reason : passed_over) log_warning("checkpoint passed over: " + reason);
}

}  // namespace exprun
