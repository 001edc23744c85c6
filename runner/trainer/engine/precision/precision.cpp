#include "engine/precision/precision.h"

#include <stdexcept>

namespace exprun {
namespace {

at::ScalarType format_named(const std::string& name) {
  if (name == "fp32" || name == "tf32") return at::kFloat;
  if (name == "bf16") return at::kBFloat16;
  if (name == "fp16") return at::kHalf;
  throw std::logic_error("precision: no format is named '" + name + "'");
}

}  // namespace

Precision Precision::read(const Section& section) {
  const auto compute = section.get<std::string>("compute");
  const auto parameters = section.get<std::string>("parameters");
  const auto part = [&](const char* key) {
    const auto written = section.get<std::string>(key);
    return format_named(written == "auto" ? parameters : written);
  };
  return {format_named(compute), part("embedding"), part("linear"), format_named(parameters),
          compute == "tf32"};
}

UpdatePrecision UpdatePrecision::read(const Section& section, int64_t seed) {
  return {format_named(section.get<std::string>("gradients")),
          format_named(section.get<std::string>("optimizer_state")),
          section.get<bool>("stochastic_rounding") ? std::optional(seed) : std::nullopt};
}

at::ScalarType Precision::of(ParameterClass kind) const {
  switch (kind) {
    case ParameterClass::embedding:
      return embedding;
    case ParameterClass::matrix:
      return matrix;
    case ParameterClass::vector:
      return vector;
  }
  throw std::logic_error("precision: no such class");
}

}  // namespace exprun
