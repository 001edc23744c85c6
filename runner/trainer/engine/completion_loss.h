// How well a model knows given endings: what multiple-choice evaluations compare.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/model.h"

namespace exprun {

struct Completion {
  std::vector<int64_t> tokens;  // the context, then the ending
  int64_t ending = 0;           // how many of them are the ending
};

// Nats of each completion's ending, summed over its tokens. Completions longer than the model can
// see lose tokens at their start. `batch` completions are computed at once, padded behind to one
// length, which changes nothing. `stops_at` is asked before the first batch and after each, with
// how many completions are done; nothing is returned where it stops them.
std::optional<std::vector<double>> completion_losses(Model& model,
                                                     const std::vector<Completion>& completions,
                                                     int64_t batch,
                                                     const std::function<bool(size_t)>& stops_at);

// What counts of an ending: no more of it than the model can see.
int64_t counted_tokens(const Completion& completion, int64_t context_length);

}  // namespace exprun
