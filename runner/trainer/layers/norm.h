// Normalisation of the last dimension: LayerNorm (Ba et al. 2016), with or without a bias, and
// RMSNorm (Zhang and Sennrich 2019), with a weight, with one stored as its difference to 1, or
// without.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "engine/parameter.h"

namespace exprun {

struct NormSettings {
  enum class Form { layer_norm, rms_norm };
  enum class Weight { none, plain, one_plus };
  Form form = Form::layer_norm;
  Weight weight = Weight::plain;
  std::optional<double> eps = 1e-5;  // nothing: the machine epsilon of the input's format
  bool bias = true;                  // of a LayerNorm
};

struct Norm {
  NormSettings settings;
  at::Tensor weight;  // (C), or undefined
  at::Tensor bias;    // (C), or undefined

  // Declares "<name>.weight" and "<name>.bias", as far as the settings have them.
  static Norm declare(ParameterList& parameters, const std::string& name, int64_t width,
                      const NormSettings& settings);

  // (..., C), in the format of x; computed in fp32.
  at::Tensor operator()(const at::Tensor& x) const;
};

}  // namespace exprun
