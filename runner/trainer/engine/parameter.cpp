#include "engine/parameter.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/random.h"

namespace exprun {

// On a mismatch the last star takes one character more.
bool glob_matches(std::string_view glob, std::string_view name) {
  size_t g = 0, n = 0, star = std::string_view::npos, behind_star = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      behind_star = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g, ++n;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      n = ++behind_star;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

bool matches_any(const std::vector<std::string>& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return glob_matches(glob, name); });
}

namespace {

// Drawn on the CPU whatever the device, so that a seed means the same weights everywhere.
void fill(at::Tensor& tensor, const Initialization& how, const at::Generator& generator) {
  switch (how.form) {
    case Initialization::Form::normal:
      tensor.normal_(how.a, how.b, generator);
      break;
    case Initialization::Form::uniform:
      tensor.uniform_(how.a, how.b, generator);
      break;
    case Initialization::Form::constant:
      tensor.fill_(how.a);
      break;
  }
}

}  // namespace

std::map<std::string, size_t> places(const std::vector<Parameter>& order) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < order.size(); ++i) places[order[i].name] = i;
  return places;
}

const char* to_string(ParameterClass kind) {
  switch (kind) {
    case ParameterClass::embedding:
      return "embedding";
    case ParameterClass::matrix:
      return "matrix";
    case ParameterClass::vector:
      return "vector";
  }
  throw std::logic_error("parameter: no such class");
}

at::Tensor ParameterList::add(std::string name, ParameterClass kind, at::IntArrayRef shape,
                              Initialization initialization) {
  if (!places_.emplace(name, items_.size()).second)
    throw std::logic_error("parameter: '" + name + "' is declared twice");
  auto tensor = at::empty(shape, at::TensorOptions(device_).dtype(precision_.of(kind)));
  tensor.set_requires_grad(!lora_ || lora_->trains(name));
  items_.push_back({std::move(name), kind, tensor, initialization});
  return tensor;
}

std::pair<at::Tensor, at::Tensor> ParameterList::add_adapter(const std::string& layer, int64_t in,
                                                             int64_t out) {
  const auto bound = 1 / std::sqrt(static_cast<double>(in));
  return {add(layer + std::string(kLoraA), ParameterClass::matrix, {lora_->rank, in},
              Initialization::uniform(bound)),
          add(layer + std::string(kLoraB), ParameterClass::matrix, {out, lora_->rank},
              Initialization::constant(0))};
}

std::vector<std::string> ParameterList::start_at_zero(const std::vector<std::string>& globs) {
  std::vector<std::string> without_match;
  for (const std::string& glob : globs) {
    bool matched = false;
    for (Parameter& item : items_) {
      if (!glob_matches(glob, item.name)) continue;
      item.initialization = Initialization::constant(0);
      matched = true;
    }
    if (!matched) without_match.push_back(glob);
  }
  return without_match;
}

void ParameterList::initialize(int64_t seed) {
  at::NoGradGuard no_grad;
  for (auto& item : items_) {
    if (item.tensor.is_meta()) continue;
    const auto key = random_bits({static_cast<uint64_t>(seed), random_word(item.name)});
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(key);
    auto drawn = at::empty(item.tensor.sizes(), at::TensorOptions().dtype(at::kFloat));
    fill(drawn, item.initialization, generator);
    item.tensor.copy_(drawn);
  }
}

const Parameter* ParameterList::find(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &items_[found->second];
}

int64_t ParameterList::count() const {
  int64_t elements = 0;
  for (const auto& item : items_) elements += item.tensor.numel();
  return elements;
}

int64_t ParameterList::trainable_count() const {
  int64_t elements = 0;
  for (const auto& item : items_)
    if (!item.is_frozen()) elements += item.tensor.numel();
  return elements;
}

}  // namespace exprun
