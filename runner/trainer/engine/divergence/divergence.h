// When an update counts as diverged, and what a run does then ([run] on_divergence): its loss or
// its gradient norm is not finite, or one of them is an outlier among the newest values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipe/section.h"

namespace exprun {

enum class OnDivergence {
  stop,      // the run ends
  skip,      // the update is dropped, and its data count as used
  rollback,  // the run goes back to a checkpoint, and passes over the data since then
};

struct DivergenceRule {
  OnDivergence policy = OnDivergence::stop;
  double z_score = 0;       // above which a value is an outlier; 0: none is
  int64_t window = 0;       // steps
  int64_t most_in_row = 0;  // divergences that do not end the run

  static DivergenceRule read(const Section& run);
};

// What a run knows of earlier steps: with it a resumed run decides as an uninterrupted one.
struct DivergenceState {
  // Finite values of the newest steps, the oldest first, also of updates that were dropped.
  std::vector<double> losses, grad_norms;
  int64_t skipped = 0;  // updates so far
  int64_t skipped_in_row = 0;
  // Update k trains on global batch k + passed_over.
  int64_t passed_over = 0;
  // Of the checkpoint to go back to, one that the recipe asked for: where a signal stopped the run
  // in between makes no difference. And how often it was gone back to.
  std::optional<int64_t> rollback_step = std::nullopt;
  int64_t rollbacks = 0;

  bool operator==(const DivergenceState&) const = default;
};

// What a step has measured; the same on all ranks.
struct StepSize {
  double loss = 0, grad_norm = 0;
};

// How many standard deviations `value` lies above the mean of the newest `window` values, itself
// among them; 0 while fewer than `window` came before it (llm.c, outlier_detector.h).
double z_score(const std::vector<double>& before, double value, int64_t window);

// Why an update has diverged: "the loss of step 12 is nan"; empty if it has not. Gradient norms are
// compared by their logarithms: those of small batches are spread over factors, and one in some
// thousand lies twenty standard deviations above the others without being a fault.
std::string divergence_of(const DivergenceRule& rule, const DivergenceState& state,
                          const StepSize& size, int64_t step);

void remember(const DivergenceRule& rule, const StepSize& size, DivergenceState& state);

}  // namespace exprun
