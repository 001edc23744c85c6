// What an element-wise optimizer remembers: a tensor for every flat range of its group.
#pragma once

#include <string>
#include <vector>

#include "engine/optimizer.h"

namespace exprun {

class MomentBuffers {
 public:
  // Zeros, each like the values of its range.
  MomentBuffers(std::string name, const std::vector<FlatRange>& ranges);

  const at::Tensor& operator[](size_t range) const { return tensors_.at(range); }
  OptimizerState state() const;

 private:
  std::string name_;
  std::vector<at::Tensor> tensors_;
};

}  // namespace exprun
