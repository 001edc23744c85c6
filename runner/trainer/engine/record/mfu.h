// Model FLOPs utilisation: which part of a device's peak the model's own arithmetic takes, by the
// convention P (Chowdhery et al. 2022, appendix B): 6N + 12 L C T a token, N without position
// embeddings, whatever is really computed.
#pragma once

#include <string>

#include "engine/record/peak.h"

namespace exprun {

struct Mfu {
  double flops_per_token = 0;
  Peak peak;  // of all devices of the run

  double of(double tokens_per_second) const {
    return flops_per_token * tokens_per_second / peak.flops;
  }
  // "MFU 37.4 % (convention P, peak 989 TFLOP/s)"
  std::string text(double tokens_per_second) const;
};

}  // namespace exprun
