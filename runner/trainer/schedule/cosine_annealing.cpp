// PyTorch's CosineAnnealingLR: a cosine between the peak and `min_lr_factor` of it that goes on
// after its lowest point, so that the rate rises again (Loshchilov and Hutter 2017, equation 5).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/schedule.h"

namespace exprun {
namespace {

class CosineAnnealing final : public Schedule {
 public:
  CosineAnnealing(Warmup warmup, int64_t end, int64_t half_period, double min_lr_factor)
      : warmup_(warmup), end_(end), half_period_(half_period), final_(min_lr_factor) {}

  double factor(int64_t k) const override {
    if (warmup_.covers(k)) return warmup_.factor(k);
    const auto gone = static_cast<double>(std::min(k, end_) - warmup_.steps);
    const double angle = std::numbers::pi * gone / static_cast<double>(half_period_);
    return final_ + 0.5 * (1 + std::cos(angle)) * (1 - final_);
  }

 private:
  Warmup warmup_;
  int64_t end_;
  int64_t half_period_;
  double final_;
};

std::unique_ptr<Schedule> build(const Section& section, const Timeline& timeline) {
  return std::make_unique<CosineAnnealing>(
      Warmup::from(section, timeline), decay_end(section, timeline),
      timeline.to_steps(section, "half_period"), section.get<double>("min_lr_factor"));
}

const Register<Schedule> registration{"cosine_annealing", build};

}  // namespace
}  // namespace exprun
