// Keys of [dataset] that are about sources of another kind than there are.
#pragma once

#include "base/diagnostic.h"
#include "control/data/split_sources.h"
#include "recipe/value.h"

namespace exprun {

// Warnings. `dataset` is of type "text". No source is opened.
Diagnostics unused_keys(const Table& dataset, const SplitSources& sources);

}  // namespace exprun
