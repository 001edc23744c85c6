// All that is known of a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

}  // namespace exprun
