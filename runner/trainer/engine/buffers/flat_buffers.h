// Parameters and gradients in one flat buffer each per (group, decays or not, dtype); gradients may
// have a wider format, in which backward adds to them. Parameters become views of it, so
// optimizers, norms, clipping and collectives work on long ranges.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/optimizer.h"
#include "engine/parameter.h"

namespace exprun {

// Every parameter starts on a cache line; the padding is zero and stays zero.
inline constexpr int64_t kParameterAlignment = 64;  // bytes

class FlatBuffer {
 public:
  // Moves the parameters' values into a new buffer and sets their data and gradients to views of
  // it: backward accumulates in place from now on. All have one dtype and device. The buffer is
  // padded so that it can be cut into `parts` equal parts that start on a cache line each.
  // `gradients`: their format, by default the parameters'; no narrower than that.
  FlatBuffer(std::vector<Parameter> parameters, bool decays, int parts = 1,
             std::optional<at::ScalarType> gradients = std::nullopt);

  struct ParameterSlice {
    Parameter parameter;
    int64_t offset = 0;  // elements from the start of the buffer
  };
  const std::vector<ParameterSlice>& parameter_slices() const { return parameter_slices_; }

  // The whole buffer as an optimizer steps it.
  const FlatRange& range() const { return range_; }

  // The part of a tensor in this buffer's layout that belongs to a parameter, in its shape.
  static at::Tensor cut(const at::Tensor& flat, const ParameterSlice& parameter_slice);

 private:
  std::vector<ParameterSlice> parameter_slices_;
  FlatRange range_;
};

}  // namespace exprun
