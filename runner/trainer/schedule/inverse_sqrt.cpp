// After the warmup of W updates, the peak times sqrt(W / (k + 1)) (Vaswani et al. 2017).
#include <algorithm>
#include <cmath>

#include "engine/schedule.h"

namespace exprun {
namespace {

class InverseSqrt final : public Schedule {
 public:
  InverseSqrt(Warmup warmup, int64_t end) : warmup_(warmup), end_(end) {}

  double factor(int64_t k) const override {
    if (warmup_.covers(k)) return warmup_.factor(k);
    const auto peak = static_cast<double>(std::max<int64_t>(warmup_.steps, 1));
    return std::sqrt(peak / static_cast<double>(std::min(k, end_) + 1));
  }

 private:
  Warmup warmup_;
  int64_t end_;
};

std::unique_ptr<Schedule> build(const Section& section, const Timeline& timeline) {
  return std::make_unique<InverseSqrt>(Warmup::from(section, timeline),
                                       decay_end(section, timeline));
}

const Register<Schedule> registration{"inverse_sqrt", build};

}  // namespace
}  // namespace exprun
