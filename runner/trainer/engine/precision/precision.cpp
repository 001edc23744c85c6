#include "engine/precision/precision.h"

#include <ATen/Context.h>

#include <stdexcept>

#include "base/machine/processor.h"

namespace exprun {
namespace {

at::ScalarType format_named(const std::string& name) {
  if (name == "fp32" || name == "tf32") return at::kFloat;
  if (name == "bf16") return at::kBFloat16;
  if (name == "fp16") return at::kHalf;
  throw std::logic_error("precision: no format is named '" + name + "'");
}

thread_local KeptCasts* kept = nullptr;

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

std::optional<std::string> check_formats(const Section& precision, const std::string& processor) {
  const auto compute = precision.get<std::string>("compute");
  if (compute == "tf32")
    throw precision.error("compute",
                          "TF32 is a format of NVIDIA's tensor cores, but this run trains on a CPU",
                          "use fp32, or bf16 if the processor has it");
  if (multiplies_in(compute, processor)) return std::nullopt;
  return "this processor has no " + compute + " instructions: " + compute +
         " is emulated and slower than fp32";
}

std::optional<std::string> check_formats(const Section& precision, const GpuFacts& gpu) {
  const auto compute = precision.get<std::string>("compute");
  if (gpu.is_ampere_or_newer()) return std::nullopt;
  if (compute == "tf32")
    throw precision.error("compute",
                          gpu.name + " has no TF32: it needs an NVIDIA GPU of Ampere or later",
                          "use fp32 or fp16");
  if (compute != "bf16") return std::nullopt;
  return gpu.name + " has no bf16 instructions: bf16 is emulated and slower than fp16";
}

void use_formats(const Section& precision) {
  const bool tf32 = Precision::read(precision).tf32;
  at::globalContext().setFloat32MatmulPrecision(tf32 ? "high" : "highest");
}

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
