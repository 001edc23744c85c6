// What a schedule is to the engine: a factor for the learning rate of every group.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/period.h"
#include "engine/registry.h"
#include "recipe/section.h"

namespace exprun {

// How long a run is, and what its periods mean in steps.
struct Timeline {
  int64_t steps = 0;  // of the whole run
  int64_t tokens_per_step = 0;
  int64_t tokens_per_epoch = 0;  // 0 if epochs have no meaning for the dataset

  // Rounded to the nearest step, at least 1 unless the period is 0. Throws std::logic_error for
  // time, and for epochs where they have no meaning.
  int64_t to_steps(const Period& period) const;

  // The period at `key` of a recipe's table, in steps. Throws RecipeError at the value where the
  // unit has no meaning.
  int64_t to_steps(const Section& section, std::string_view key) const;
};

class Schedule {
 public:
  using Factory = std::unique_ptr<Schedule> (*)(const Section& section, const Timeline& timeline);

  virtual ~Schedule() = default;

  // The factor of the k-th update, k from 0; a pure function.
  virtual double factor(int64_t k) const = 0;
};

// The warmup that every schedule has (keys `warmup`, `warmup_form`, `decay_until`).
struct Warmup {
  int64_t steps = 0;
  enum class Form { k_plus_1_over_w, k_plus_1_over_w_plus_1, k_over_w } form;

  static Warmup from(const Section& section, const Timeline& timeline);
  bool covers(int64_t k) const { return k < steps; }
  double factor(int64_t k) const;
};

// The step at which decay ends: `decay_until`, by default the run's end.
int64_t decay_end(const Section& section, const Timeline& timeline);

// How far the k-th update is between two steps, 0 at `begin` to 1 from `end` on.
double progress(int64_t k, int64_t begin, int64_t end);

}  // namespace exprun
