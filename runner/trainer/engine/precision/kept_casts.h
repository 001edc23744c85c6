// Weights in the format of the products, kept from one use to the next while they do not change:
// text is generated a token at a time, and to cast all weights takes longer than to use them.
#pragma once

#include <ATen/core/Tensor.h>

#include <unordered_map>

namespace exprun {

// While one lives, cast_weight() of its thread keeps what it makes. Inside another it does nothing.
class KeptCasts {
 public:
  KeptCasts();
  ~KeptCasts();
  KeptCasts(const KeptCasts&) = delete;
  KeptCasts& operator=(const KeptCasts&) = delete;

 private:
  friend at::Tensor cast_weight(const at::Tensor& weight, at::ScalarType format);

  struct Cast {
    at::Tensor weight;  // held, so that no other takes its place in memory
    at::Tensor cast;
  };
  std::unordered_map<const void*, Cast> casts_;
};

// The weight itself where it has the format.
at::Tensor cast_weight(const at::Tensor& weight, at::ScalarType format);

}  // namespace exprun
