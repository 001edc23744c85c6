// What a rank other than 0 does when the run is saved: it gives its part of the state, and rank 0
// writes.
#pragma once

#include "engine/trainer.h"

namespace exprun {

class StateGiver : public Saver {
 public:
  void save(const Pipeline& pipeline, const Position&) override {
    pipeline.optimizers().gathered_state();
  }
  void save_last(const Pipeline& pipeline, const Position& position) override {
    save(pipeline, position);
  }
};

}  // namespace exprun
