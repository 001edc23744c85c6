// The dataset over prepared token shards: what every source of tokens becomes.
#pragma once

#include <memory>

#include "engine/data/sample_order.h"
#include "engine/dataset.h"

namespace exprun {

// Train samples in the section's `order`, of its `blocks`; validation in order from the start.
// Throws Error when a split is shorter than one sample; an empty validation split has no samples.
std::unique_ptr<Dataset> make_token_dataset(const Section& section, const DatasetContext& context);
std::unique_ptr<Dataset> make_token_dataset(const DatasetContext& context, SampleOrder order,
                                            Blocks blocks = Blocks::overlapping);

}  // namespace exprun
