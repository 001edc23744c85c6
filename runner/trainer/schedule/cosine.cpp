// Half a cosine from the peak at the end of the warmup to `min_lr_factor` of it at `decay_until`
// (Loshchilov and Hutter 2017, one cycle).
#include <cmath>
#include <numbers>

#include "engine/schedule.h"

namespace exprun {
namespace {

class Cosine final : public Schedule {
 public:
  Cosine(Warmup warmup, int64_t end, double min_lr_factor)
      : warmup_(warmup), end_(end), final_(min_lr_factor) {}

  double factor(int64_t k) const override {
    if (warmup_.covers(k)) return warmup_.factor(k);
    const double angle = std::numbers::pi * progress(k, warmup_.steps, end_);
    return final_ + 0.5 * (1 + std::cos(angle)) * (1 - final_);
  }

 private:
  Warmup warmup_;
  int64_t end_;
  double final_;
};

std::unique_ptr<Schedule> build(const Section& section, const Timeline& timeline) {
  return std::make_unique<Cosine>(Warmup::from(section, timeline), decay_end(section, timeline),
                                  section.get<double>("min_lr_factor"));
}

const Register<Schedule> registration{"cosine", build};

}  // namespace
}  // namespace exprun
