// A run that is stopped and continued against one that is not.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/pipeline.h"

namespace exprun {

void check_equal(const std::map<std::string, at::Tensor>& a,
                 const std::map<std::string, at::Tensor>& b);

// That a run which is stopped anywhere, and continued, ends with the bits and the series of one
// that is not. `prepare` changes the pipeline of every attempt.
void check_exact(const std::vector<std::string>& overrides, uint64_t trials,
                 const std::function<void(Pipeline&)>& prepare = nullptr);

}  // namespace exprun
