// All that is known of a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "control/report/compare/criterion.h"
#include "store/rows.h"

namespace exprun {

// Read from the store beforehand. The JSON texts are those of the last attempt.
struct RunDetails {
  RunRow run;              // in its observed state
  std::string folder;      // where it is, as the user would write it, or that it is not here
  bool has_folder = true;  // a merged run has none here
  nlohmann::ordered_json environment, libraries;
  std::vector<AttemptRow> attempts;
  std::vector<SeriesRow> series;
  std::vector<CheckpointRow> checkpoints;
  std::vector<EventRow> events;
  std::vector<NoteRow> notes;
  std::string resolved_toml;
  bool has_code_diff = true;  // of files that git tracks
  std::string fork_again;     // of a fork: how it is made again
  Criterion criterion;        // what its recipe compares steps by
};

// What is known of a run, for people.

// "# name        text", so that it may stand above a resolved recipe; further lines of the text go
// on below it. Empty if the text is.
std::string comment_line(const std::string& name, std::string text);

// All of it in such lines, no wider than `width` where their words allow it, or as long as they are
// for 0.
std::string details_as_comments(const RunDetails& details, size_t width);

// All that is known of a run, for scripts.

nlohmann::ordered_json details_as_json(const RunDetails& details);

// What came of one run, in a few lines.

// `criterion` is what its recipe compares steps by, and `folder` where it is, as the user would
// write it. Ends with a line feed.
std::string run_result(const RunRow& run, const std::vector<SeriesRow>& series,
                       const Criterion& criterion, const std::string& folder);

}  // namespace exprun
