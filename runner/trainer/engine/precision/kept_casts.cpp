#include "engine/precision/kept_casts.h"

namespace exprun {
namespace {

thread_local KeptCasts* kept = nullptr;

}  // namespace

KeptCasts::KeptCasts() {
  if (!kept) kept = this;
}

KeptCasts::~KeptCasts() {
  if (kept == this) kept = nullptr;
}

at::Tensor cast_weight(const at::Tensor& weight, at::ScalarType format) {
  if (!kept || weight.scalar_type() == format) return weight.to(format);
  KeptCasts::Cast& known = kept->casts_[weight.unsafeGetTensorImpl()];
  if (!known.cast.defined() || known.cast.scalar_type() != format)
    known = {weight, weight.to(format)};
  return known.cast;
}

}  // namespace exprun
