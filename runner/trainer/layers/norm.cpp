#include "layers/norm.h"

#include <ATen/ops/ones.h>

#include <limits>

#include "kernels/layer_norm.h"
#include "kernels/rms_norm.h"

namespace exprun {
namespace {

double eps_of(const NormSettings& settings, const at::Tensor& x) {
  if (settings.eps) return *settings.eps;
  if (x.scalar_type() == at::kBFloat16) return 0x1p-7;
  return x.scalar_type() == at::kHalf ? 0x1p-10 : std::numeric_limits<float>::epsilon();
}

}  // namespace

Norm Norm::declare(ParameterList& parameters, const std::string& name, int64_t width,
                   const NormSettings& settings) {
  Norm layer;
  layer.settings = settings;
  const double start = settings.weight == NormSettings::Weight::one_plus ? 0 : 1;
  if (settings.weight != NormSettings::Weight::none)
    layer.weight = parameters.add(name + ".weight", ParameterClass::vector, {width},
                                  Initialization::constant(start));
  if (settings.bias && settings.form == NormSettings::Form::layer_norm)
    layer.bias = parameters.add(name + ".bias", ParameterClass::vector, {width},
                                Initialization::constant(0));
  return layer;
}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  const double eps = eps_of(settings, x);
  const bool one_plus = settings.weight == NormSettings::Weight::one_plus;
  if (settings.form == NormSettings::Form::rms_norm)
    return rms_norm(x, weight, one_plus ? 1 : 0, eps);
  if (!weight.defined()) return layer_norm(x, at::ones({x.size(-1)}, x.options()), bias, eps);
  return layer_norm(x, one_plus ? weight.add(1) : weight, bias, eps);
}

}  // namespace exprun
