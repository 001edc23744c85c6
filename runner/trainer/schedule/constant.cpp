// The peak rate, after the warmup.
#include "engine/schedule.h"

namespace exprun {
namespace {

class Constant final : public Schedule {
 public:
  explicit Constant(Warmup warmup) : warmup_(warmup) {}

  double factor(int64_t k) const override { return warmup_.covers(k) ? warmup_.factor(k) : 1; }

 private:
  Warmup warmup_;
};

// Nothing decays, so `decay_until` changes nothing here; a wrong one is told all the same.
std::unique_ptr<Schedule> build(const Section& section, const Timeline& timeline) {
  decay_end(section, timeline);
  return std::make_unique<Constant>(Warmup::from(section, timeline));
}

const Register<Schedule> registration{"constant", build};

}  // namespace
}  // namespace exprun
