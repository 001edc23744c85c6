// The attempts of a run as rows. All of these run inside a write transaction.
#pragma once

#include <cstdint>

#include "store/database/connection.h"
#include "store/metrics/series.h"
#include "store/rows.h"

namespace exprun {

// Inserts attempt `attempt` of `run` as running, by this process.
void insert_attempt(Connection& connection, int64_t run, int64_t attempt, int64_t from_step,
                    const Provenance& provenance, int64_t now_ms);

// The run becomes one of another recipe; what it was is kept with `last_attempt`, the last to run
// it (runs.cpp).
void change_recipe(Connection& connection, int64_t run, int64_t last_attempt,
                   const ChangedRecipe& changed);

// Of the run's current attempt.
void insert_event(Connection& connection, const EventRow& event);

// Moves the live rows after `from_step` to the archive, under the attempts that wrote them, forgets
// the later checkpoints, and makes the summaries true again. Before the new attempt is inserted.
// `kept` is of the same run and step, read before the transaction.
void archive_after(Connection& connection, int64_t run, int64_t from_step,
                   const KeptSummaries& kept);

}  // namespace exprun
