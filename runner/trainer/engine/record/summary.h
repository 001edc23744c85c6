// What a run says about itself when it starts and when it ends.
#pragma once

#include <string>
#include <vector>

#include "engine/device/machine.h"
#include "engine/pipeline.h"
#include "engine/record/progress.h"
#include "engine/record/store_recorder.h"
#include "engine/trainer.h"

namespace exprun {

// Lines for people.
std::vector<std::string> start_summary(const Pipeline& pipeline, const PreparedData& data,
                                       const Machine& machine);
std::vector<std::string> end_summary(const Pipeline& pipeline, const Progress& progress,
                                     const TrainingResult& result, const StoredRun& run);

}  // namespace exprun
