// Warm-up, stable, decay (Hu et al. 2024): the peak rate until the last `decay_length` before
// `decay_until`, then down to `min_lr_factor` of it in one of three forms.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "engine/schedule.h"

namespace exprun {
namespace {

// What is left of the peak where `gone` of the decay, 0 to 1, is over.
using Form = double (*)(double gone);

double linear(double gone) {
  return 1 - gone;
}

double one_minus_sqrt(double gone) {
  return 1 - std::sqrt(gone);
}

double cosine(double gone) {
  return 0.5 * (1 + std::cos(std::numbers::pi * gone));
}

Form form_named(const std::string& name) {
  if (name == "linear") return linear;
  if (name == "one_minus_sqrt") return one_minus_sqrt;
  if (name == "cosine") return cosine;
  throw std::logic_error("wsd: no decay has the form '" + name + "'");
}

class WarmupStableDecay final : public Schedule {
 public:
  WarmupStableDecay(Warmup warmup, int64_t begin, int64_t end, double min_lr_factor, Form form)
      : warmup_(warmup), begin_(begin), end_(end), final_(min_lr_factor), form_(form) {}

  double factor(int64_t k) const override {
    if (warmup_.covers(k)) return warmup_.factor(k);
    return final_ + form_(progress(k, begin_, end_)) * (1 - final_);
  }

 private:
  Warmup warmup_;
  int64_t begin_;
  int64_t end_;
  double final_;
  Form form_;
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
      section.get<double>("min_lr_factor"), form_named(section.get<std::string>("decay")));
}

const Register<Schedule> registration{"wsd", build};

}  // namespace
}  // namespace exprun
