// Number formats of a run ([precision]): what parameters are stored in, part by part, and what
// matrix products compute in. Weights are cast per use; a sum with the residual stream has the
// wider format of the two.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/device/gpu.h"
#include "engine/parameter_class.h"
#include "recipe/section.h"

namespace exprun {

struct Precision {
  at::ScalarType compute = at::kFloat;
  at::ScalarType embedding = at::kFloat;
  at::ScalarType matrix = at::kFloat;
  at::ScalarType vector = at::kFloat;
  bool tf32 = false;  // fp32 products on tensor cores, which round their operands to TF32

  static Precision read(const Section& section);

  at::ScalarType of(ParameterClass kind) const;
};

// What an update of bf16 weights works with; over fp32 weights all is fp32.
struct UpdatePrecision {
  at::ScalarType gradients = at::kFloat;  // as they accumulate over micro-batches and ranks
  at::ScalarType state = at::kFloat;      // of the optimizer, and what it computes in
  std::optional<int64_t> rounding_seed = std::nullopt;  // weights are rounded stochastically by it

  static UpdatePrecision read(const Section& section, int64_t seed);

  at::ScalarType gradients_of(at::ScalarType weights) const {
    return weights == at::kBFloat16 ? gradients : weights;
  }
  at::ScalarType state_of(at::ScalarType weights) const {
    return weights == at::kBFloat16 ? state : weights;
  }
};

// Whether a device can compute in a recipe's formats.

// Throws RecipeError at [precision] compute where it cannot. What it can only emulate, slower than
// fp32, is said in the text that is returned. `processor` are its flags (base/machine/processor.h).
std::optional<std::string> check_formats(const Section& precision, const std::string& processor);
std::optional<std::string> check_formats(const Section& precision, const GpuFacts& gpu);

// TF32 for fp32 products where the recipe asks for it, full fp32 elsewhere; of this process.
void use_formats(const Section& precision);

// The weight itself where it has the format.
at::Tensor cast_weight(const at::Tensor& weight, at::ScalarType format);

// While one lives, cast_weight() of its thread keeps what it makes, for weights that do not change:
// text is generated a token at a time, and to cast all weights takes longer than to use them.
// Inside another it does nothing.
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

// Dynamic loss scaling for fp16, whose gradients would vanish below 6e-8: the loss is multiplied
// before backward, the gradients are divided after it. An update whose gradients overflow is
// computed again with half the scale; after many without one the scale doubles.
struct LossScale {
  static constexpr double kFirst = 65536;
  static constexpr int64_t kGrowthInterval = 2000;  // updates; as torch.amp.GradScaler

  double value = kFirst;
  int64_t updates = 0;  // since it last changed

  void overflowed() { *this = {value / 2, 0}; }
  void updated() {
    if (++updates == kGrowthInterval) *this = {value * 2, 0};
  }
  // Below this no scale is the reason.
  bool is_hopeless() const { return value < 1; }

  bool operator==(const LossScale&) const = default;
};

}  // namespace exprun
