#include "control/launch/machine_limits.h"

#include <sched.h>

#include "control/report/humane.h"
#include "recipe/quantities.h"
#include "recipe/rules.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

// That this process may use, as the trainer counts them.
int64_t usable_cores() {
  cpu_set_t cores;
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

// Of the folder, or of what it will be made in.
std::optional<uintmax_t> free_bytes(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  const fs::space_info space = fs::space(folder, error);
  return error ? std::nullopt : std::optional(space.available);
}

Diagnostic warning(SourceSpan where, std::string message, std::string help) {
  return {std::move(where), std::move(message), std::move(help), {}, Severity::warning};
}

}  // namespace

Diagnostics machine_problems(const ResolvedRecipe& recipe) {
  const auto threads = integer_at(recipe.root(), "run.threads");
  const int64_t ranks = integer_at(recipe.root(), "parallelism.world_size").value_or(1);
  const int64_t cores = usable_cores();
  if (!threads || *threads * ranks <= cores) return {};
  return {warning(place_of(recipe.root(), "run.threads"),
                  std::to_string(*threads * ranks) + " threads on " + std::to_string(cores) +
                      " cores wait for each other",
                  "\"auto\" takes one a core")};
}

Diagnostics disk_problems(const ResolvedRecipe& recipe, int64_t checkpoint_bytes,
                          const StoreFolder& folder) {
  const int64_t kept = integer_at(recipe.root(), "checkpoint.keep_last").value_or(0);
  const double needed = static_cast<double>(checkpoint_bytes) * static_cast<double>(kept + 1);
  const auto there = free_bytes(folder.database().parent_path());
  if (!there || needed <= static_cast<double>(*there)) return {};
  return {warning(place_of(recipe.root(), "checkpoint.keep_last"),
                  std::to_string(kept + 1) + " checkpoints take " + binary_bytes(needed) +
                      ", and the disk of " + folder.shown.string() + " has " +
                      binary_bytes(static_cast<double>(*there)) + " left",
                  "free some space, or choose another place with --store")};
}

}  // namespace exprun
