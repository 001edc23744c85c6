// Warm-up, stable, decay (Hu et al. 2024): the peak rate until the last `decay_length` before
// `decay_until`, then down to `final_fraction` of it, linearly or by 1 - sqrt.
#include <algorithm>
#include <cmath>

#include "engine/schedule.h"

namespace exprun {
namespace {

class WarmupStableDecay final : public Schedule {
 public:
  WarmupStableDecay(Warmup warmup, int64_t begin, int64_t end, double final_fraction, bool linear)
      : warmup_(warmup), begin_(begin), end_(end), final_(final_fraction), linear_(linear) {}

  double factor(int64_t k) const override {
    if (warmup_.covers(k)) return warmup_.factor(k);
    const double gone = progress(k, begin_, end_);
    return final_ + (1 - (linear_ ? gone : std::sqrt(gone))) * (1 - final_);
  }

 private:
  Warmup warmup_;
  int64_t begin_;
  int64_t end_;
  double final_;
  bool linear_;
};

// By default the last fifth, beginning at the step that llm.c's int(0.8 n) gives.
int64_t decay_begin(const Section& section, const Timeline& timeline, int64_t end) {
  if (section.get<std::string>("decay_length") == "auto")
    return static_cast<int64_t>(0.8 * static_cast<double>(end));
  return std::max<int64_t>(0, end - timeline.to_steps(section, "decay_length"));
}

std::unique_ptr<Schedule> build(const Section& section, const Timeline& timeline) {
  const auto end = decay_end(section, timeline);
  return std::make_unique<WarmupStableDecay>(
      Warmup::from(section, timeline), decay_begin(section, timeline, end), end,
      section.get<double>("final_fraction"), section.get<std::string>("decay") == "linear");
}

const Register<Schedule> registration{"wsd", build};

}  // namespace
}  // namespace exprun
