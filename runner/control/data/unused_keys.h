// Keys of [dataset] that are about sources of another kind than there are.
#pragma once

#include "base/diagnostic.h"
#include "control/data/split_sources.h"
#include "recipe/value.h"

namespace exprun {

// Whether a key is written that a kind of source has no use for: else nothing need be looked for.
bool may_have_unused_keys(const Table& dataset);

// Warnings. `dataset` is of type "text". No source is opened.
Diagnostics unused_keys(const Table& dataset, const SplitSources& sources);

}  // namespace exprun
