// The series of runs as curves, read from the store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/report/plot/picture.h"
#include "control/report/runs_table.h"
#include "store/store.h"

namespace exprun {

enum class Against { step, tokens, time };

struct PlottedRun {
  RunRow run;
  std::string label;  // its folder, and up to three parameters that tell it from the others
};

std::vector<PlottedRun> plotted_runs(const Store& store, const std::vector<ReportedRun>& runs);

struct CurveOptions {
  std::vector<std::string> series;  // none: the losses that the runs have
  Against against = Against::step;
  double smoothing = 0;
  bool log_x = false, log_y = false;
};

// Values of series that are read again and again while runs add to them: each once.
class MetricCache {
 public:
  const std::vector<MetricRow>& values(const Store& store, int64_t series);
  // A resume or a rollback has replaced values.
  void forget() { known_.clear(); }

 private:
  std::map<int64_t, std::vector<MetricRow>> known_;
};

// A panel for each kind of series: "train/loss" and "val/loss" share one, as their last words are
// the same. A run keeps its color in all; one run alone has a color for each series. Throws Error
// that names the nearest series where no run has one that is asked for.
std::vector<Panel> panels_of(const Store& store, const std::vector<PlottedRun>& runs,
                             const CurveOptions& options, MetricCache* cache = nullptr);

// Throws Error of `command` that names the nearest series where no run has one of these.
void require_series(const Store& store, const std::vector<PlottedRun>& runs,
                    const std::vector<std::string>& names, const std::string& command);

// Of the global batch, as the recipe of the run says; nothing where the data decide.
std::optional<int64_t> tokens_per_step(const Store& store, const RunRow& run);

}  // namespace exprun
