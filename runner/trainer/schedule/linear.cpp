// Straight down from the peak at the end of the warmup to `min_lr_factor` of it at `decay_until`.
#include "engine/schedule.h"

namespace exprun {
namespace {

class Linear final : public Schedule {
 public:
  Linear(Warmup warmup, int64_t end, double min_lr_factor)
      : warmup_(warmup), end_(end), final_(min_lr_factor) {}

  double factor(int64_t k) const override {
    if (warmup_.covers(k)) return warmup_.factor(k);
    return 1 - progress(k, warmup_.steps, end_) * (1 - final_);
  }

 private:
  Warmup warmup_;
  int64_t end_;
  double final_;
};

std::unique_ptr<Schedule> build(const Section& section, const Timeline& timeline) {
  return std::make_unique<Linear>(Warmup::from(section, timeline), decay_end(section, timeline),
                                  section.get<double>("min_lr_factor"));
}

const Register<Schedule> registration{"linear", build};

}  // namespace
}  // namespace exprun
