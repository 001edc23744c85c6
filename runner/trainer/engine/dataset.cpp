#include "engine/dataset.h"

namespace exprun {

Batch Batch::on(at::Device device) const {
  const at::TensorOptions there(device);
  return {inputs.to(there, /*non_blocking=*/true), targets.to(there, /*non_blocking=*/true),
          largest_token, counted_targets};
}

}  // namespace exprun
