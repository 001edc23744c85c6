// The parameters of a model: a list by name and class. Optimizer groups, flat buffers, checkpoints,
// import and export read it; nothing else knows a model's insides.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace exprun {

// Decides weight decay and which optimizer group may take a parameter.
enum class ParameterClass { embedding, matrix, vector };

const char* to_string(ParameterClass kind);

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
  at::Tensor tensor;  // a leaf that requires grad; shared with the model's own member
  Initialization initialization;
};

class ParameterList {
 public:
  // On the meta device nothing is allocated: that is how `--describe` builds a model.
  explicit ParameterList(at::Device device) : device_(device) {}

  // Declares a parameter, uninitialised, and returns the tensor to keep in the model. A tied
  // parameter is declared once. A name that is taken is a programming error.
  at::Tensor add(std::string name, ParameterClass kind, at::IntArrayRef shape,
                 Initialization initialization);

  // Fills every parameter from (seed, its name) alone: neither order nor sharding matters.
  void initialize(int64_t seed);

  const std::vector<Parameter>& items() const { return items_; }
  const Parameter* find(const std::string& name) const;
  int64_t count() const;  // elements in all

 private:
  at::Device device_;
  std::vector<Parameter> items_;
};

}  // namespace exprun
