// The values of a series of the other store.
#pragma once

#include "store/connection.h"

namespace exprun {

// A series and the run that it is of: ids of series are used again.
struct Target {
  int64_t run = 0, series = 0;
};

// Values of the series `theirs` and their summary, into ours, a part in each of several
// transactions. `connection` has the other store attached; `other` is one of the other store's own.
void copy_series_values(Connection& connection, Connection& other, int64_t theirs,
                        const Target& ours);

}  // namespace exprun
