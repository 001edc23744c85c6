// The parameters of a model: a list by name and class. Optimizer groups, flat buffers, checkpoints,
// import and export read it; nothing else knows a model's insides.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/lora.h"
#include "engine/parameter_class.h"
#include "engine/precision/precision.h"

namespace exprun {

struct Initialization {
  enum class Form { normal, uniform, constant };
  Form form = Form::constant;
  double a = 0;  // mean, lower bound or the constant
  double b = 0;  // standard deviation or upper bound

  static Initialization normal(double std) { return {Form::normal, 0, std}; }
  static Initialization uniform(double bound) { return {Form::uniform, -bound, bound}; }
  static Initialization constant(double value) { return {Form::constant, value, 0}; }
};

struct Parameter {
  std::string name;  // "blocks.0.attention.output_projection.weight"
  ParameterClass kind;
  at::Tensor tensor;  // a leaf, shared with the model's own member; requires grad unless frozen
  Initialization initialization;

  bool is_frozen() const { return !tensor.requires_grad(); }
};

// Where each stands, by name: a model declares its parameters in the order in which it uses them,
// and backward reaches them about in reverse.
std::map<std::string, size_t> places(const std::vector<Parameter>& order);

class ParameterList {
 public:
  // On the meta device nothing is allocated: that is how `--describe` builds a model.
  explicit ParameterList(at::Device device, Precision precision = {})
      : device_(device), precision_(precision) {}

  // What the model's layers compute in.
  const Precision& precision() const { return precision_; }

  // From now on parameters that the settings do not train are declared frozen, and layers that are
  // targets have adapters.
  void adapt(std::optional<LoraSettings> lora) { lora_ = std::move(lora); }
  const std::optional<LoraSettings>& lora() const { return lora_; }

  // Declares a parameter, uninitialised, and returns the tensor to keep in the model. A tied
  // parameter is declared once. A name that is taken is a programming error.
  at::Tensor add(std::string name, ParameterClass kind, at::IntArrayRef shape,
                 Initialization initialization);

  // Declares the matrices of a layer's adapter and returns them, A (rank, in) and B (out, rank): A
  // starts as in PyTorch's linear layers, B at zero.
  std::pair<at::Tensor, at::Tensor> add_adapter(const std::string& layer, int64_t in, int64_t out);

  // Parameters that match a glob start at zero. A glob without a match is returned.
  std::vector<std::string> start_at_zero(const std::vector<std::string>& globs);

  // Fills every parameter from (seed, its name) alone: neither order nor sharding matters.
  void initialize(int64_t seed);

  const std::vector<Parameter>& items() const { return items_; }
  const Parameter* find(const std::string& name) const;
  int64_t count() const;            // elements in all
  int64_t trainable_count() const;  // of those parameters that are not frozen

 private:
  at::Device device_;
  Precision precision_;
  std::optional<LoraSettings> lora_;
  std::vector<Parameter> items_;
  std::unordered_map<std::string, size_t> places_;  // in items_
};

// Globs over the names of parameters, as recipes write them: "blocks.*.weight".

// Whether `name` matches the glob: `*` stands for any text, dots included, `?` for one character.
bool glob_matches(std::string_view glob, std::string_view name);

bool matches_any(const std::vector<std::string>& globs, std::string_view name);

}  // namespace exprun
