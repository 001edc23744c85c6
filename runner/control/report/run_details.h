// All that is known of a run: for people, and for scripts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "control/report/table.h"
#include "store/rows.h"

namespace exprun {

// Read from the store beforehand. The JSON texts are those of the last attempt.
struct RunDetails {
  RunRow run;  // in its observed state
  std::string folder;
  nlohmann::ordered_json environment, libraries;
  std::vector<AttemptRow> attempts;
  std::vector<SeriesRow> series;
  std::vector<CheckpointRow> checkpoints;
  std::vector<EventRow> events;
  std::vector<NoteRow> notes;
  std::string resolved_toml;
};

// Lines of "# ...", so that they may stand above the resolved recipe.
std::string details_as_comments(const RunDetails& details);

nlohmann::ordered_json details_as_json(const RunDetails& details);

// A row a life of the run's processes.
ResultTable attempts_table(const std::vector<AttemptRow>& attempts);

}  // namespace exprun
