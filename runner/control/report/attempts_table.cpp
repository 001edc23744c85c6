#include "control/report/attempts_table.h"

#include "base/humane.h"
#include "control/report/runs_table.h"

namespace exprun {

ResultTable attempts_table(const std::vector<AttemptRow>& attempts) {
  ResultTable table{{{"attempt", "attempt", true},
                     {"from_step", "from step", true},
                     {"last_step", "to step", true},
                     {"state", "state"},
                     {"started_ms", "began"},
                     {"seconds", "time", true},
                     {"host", "host"},
                     {"version", "exprun"},
                     {"git_commit", "git"},
                     {"message", "message"}},
                    {}};
  for (const AttemptRow& row : attempts) {
    const double seconds =
        static_cast<double>(row.ended_ms.value_or(row.started_ms) - row.started_ms) / 1000;
    table.rows.push_back({Cell::integer(row.attempt),
                          Cell::integer(row.from_step),
                          Cell::integer(row.last_step),
                          state_cell(run_state(row.state)),
                          {row.started_ms, utc_time(row.started_ms)},
                          row.ended_ms ? Cell::number(seconds, duration(seconds)) : Cell::none(),
                          Cell::word(row.host),
                          Cell::word(row.version),
                          row.git_commit ? Cell::word(row.git_commit->substr(0, 12)) : Cell::none(),
                          Cell::word(row.message)});
  }
  return table;
}

}  // namespace exprun
