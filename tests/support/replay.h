// The schemas of exprun and of the components `test_replay` (dataset) and `test_replay_loss`
// (evaluation).
#pragma once

#include "recipe/schema/schema.h"

namespace exprun {

SchemaSet replay_schemas();

}  // namespace exprun
