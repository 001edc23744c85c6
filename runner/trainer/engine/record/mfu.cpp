#include "engine/record/mfu.h"

#include <cstdio>

namespace exprun {

std::string Mfu::text(double tokens_per_second) const {
  char text[96];
  std::snprintf(text, sizeof text, "MFU %.1f %% (convention P, peak %.4g TFLOP/s",
                100 * of(tokens_per_second), peak.flops / 1e12);
  return text + peak.how + ")";
}

}  // namespace exprun
