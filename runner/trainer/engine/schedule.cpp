#include "engine/schedule.h"

#include <stdexcept>

#include "recipe/quantities.h"

namespace exprun {
namespace {

Warmup::Form form_named(const std::string& name) {
  if (name == "(k+1)/W") return Warmup::Form::k_plus_1_over_w;
  if (name == "(k+1)/(W+1)") return Warmup::Form::k_plus_1_over_w_plus_1;
  if (name == "k/W") return Warmup::Form::k_over_w;
  throw std::logic_error("schedule: no warmup has the form '" + name + "'");
}

}  // namespace

int64_t Timeline::to_steps(const Period& period) const {
  if (const auto exact = exact_steps(period, tokens_per_step, tokens_per_epoch))
    return whole_steps(*exact);
  throw std::logic_error("schedule: " + to_string(period) + " has no meaning in steps here");
}

int64_t Timeline::to_steps(const Section& section, std::string_view key) const {
  const auto period = section.get<Period>(key);
  if (period.unit == PeriodUnit::seconds)
    throw section.error(key, "'" + std::string(key) + "' cannot be a time",
                        "give it in steps, tokens or epochs: with a time, results depend on speed");
  if (period.unit == PeriodUnit::epochs && tokens_per_epoch == 0)
    throw section.error(key, "epochs are not defined for this dataset's order",
                        "give '" + std::string(key) + "' in steps or tokens");
  return to_steps(period);
}

Warmup Warmup::from(const Section& section, const Timeline& timeline) {
  return {timeline.to_steps(section, "warmup"),
          form_named(section.get<std::string>("warmup_form"))};
}

double Warmup::factor(int64_t k) const {
  const auto update = static_cast<double>(k);
  const auto length = static_cast<double>(steps);
  switch (form) {
    case Form::k_plus_1_over_w:
      return (update + 1) / length;
    case Form::k_plus_1_over_w_plus_1:
      return (update + 1) / (length + 1);
    case Form::k_over_w:
      return update / length;
  }
  throw std::logic_error("schedule: no such form of warmup");
}

int64_t decay_end(const Section& section, const Timeline& timeline) {
  if (section.get<std::string>("decay_until") == "auto") return timeline.steps;
  return timeline.to_steps(section, "decay_until");
}

double progress(int64_t k, int64_t begin, int64_t end) {
  if (k >= end) return 1;
  if (k <= begin) return 0;
  return static_cast<double>(k - begin) / static_cast<double>(end - begin);
}

}  // namespace exprun
