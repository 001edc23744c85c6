// Dynamic loss scaling for fp16, whose gradients would vanish below 6e-8: the loss is multiplied
// before backward, the gradients are divided behind it. An update whose gradients overflow is
// computed again with half the scale; after many without one the scale doubles.
#pragma once

#include <cstdint>

namespace exprun {

struct LossScale {
  static constexpr double kFirst = 65536;
  static constexpr int64_t kGrowthInterval = 2000;  // updates; as torch.amp.GradScaler

  double value = kFirst;
  int64_t updates = 0;  // since it last changed

  void overflowed() { *this = {value / 2, 0}; }
  void updated() {
    if (++updates == kGrowthInterval) *this = {value * 2, 0};
  }
  // Below this no scale is the reason.
  bool is_hopeless() const { return value < 1; }

  bool operator==(const LossScale&) const = default;
};

}  // namespace exprun
