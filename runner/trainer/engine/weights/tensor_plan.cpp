#include "engine/weights/tensor_plan.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include <set>

namespace exprun {
namespace {

std::vector<int64_t> shape_of(const at::Tensor& tensor) {
  return tensor.sizes().vec();
}

HeadOrder order_of(const Section& model) {
  HeadOrder order{model.get<int64_t>("head_dim")};
  const Section position = model.table("position");
  if (position.type() != "rotary") return order;
  order.interleaved = position.get<std::string>("layout") == "interleaved";
  order.swapped = position.get<std::string>("direction") == "clockwise";
  return order;
}

std::string numbered(std::string_view pattern, int64_t number) {
  std::string name(pattern);
  if (const size_t star = name.find('*'); star != name.npos)
    name.replace(star, 1, std::to_string(number));
  return name;
}

// "blocks.0.attention.query_key_value.weight" with another word in its place.
std::string with_word(const std::string& name, const std::string& word, const std::string& other) {
  const size_t at = name.find("." + word + ".");
  return name.substr(0, at + 1) + other + name.substr(at + 1 + word.size());
}

bool has_word(const std::string& name, const std::string& word) {
  return name.find("." + word + ".") != name.npos;
}

class Planner {
 public:
  Planner(const std::vector<Parameter>& parameters, const Section& model)
      : parameters_(parameters),
        wide_(model.get<int64_t>("num_heads") * model.get<int64_t>("head_dim")),
        narrow_(model.get<int64_t>("num_key_value_heads") * model.get<int64_t>("head_dim")),
        vocab_size_(model.get<int64_t>("vocab_size")),
        width_(model.get<int64_t>("hidden_size")),
        head_dim_(model.get<int64_t>("head_dim")) {}

  PlannedTensor plan(const TensorRule& rule, int64_t block) {
    const std::string ours = numbered(rule.ours, block);
    PlannedTensor planned{
        numbered(rule.theirs, block), {}, rule.transposed, false, {}, rule.absent};
    planned.parts = parts_of(ours);
    planned.of_vocabulary = ours == kEmbedding || ours == kHead;
    if (planned.of_vocabulary && !planned.parts.empty()) planned.parts.front().rows = vocab_size_;
    planned.shape = shape_of_theirs(planned, ours);
    return planned;
  }

  std::vector<std::string> unplanned() const {
    std::vector<std::string> left;
    for (const Parameter& parameter : parameters_)
      if (planned_.count(parameter.name) == 0) left.push_back(parameter.name);
    return left;
  }

 private:
  const Parameter* find(const std::string& name) {
    for (const Parameter& parameter : parameters_)
      if (parameter.name == name) {
        planned_.insert(name);
        return &parameter;
      }
    return nullptr;
  }

  std::optional<TensorPart> part_of(const std::string& ours) {
    const bool turned = has_word(ours, "query") || has_word(ours, "key") ||
                        has_word(ours, "query_norm") || has_word(ours, "key_norm");
    if (const Parameter* whole = find(ours))
      return TensorPart{ours, 0, whole->tensor.size(0), turned};
    int64_t first = 0;
    for (const auto& [word, rows] :
         {std::pair("query", wide_), std::pair("key", narrow_), std::pair("value", narrow_)}) {
      if (has_word(ours, word))
        if (const Parameter* joined = find(with_word(ours, word, "query_key_value")))
          return TensorPart{joined->name, first, rows, turned};
      first += rows;
    }
    return std::nullopt;
  }

  std::vector<TensorPart> parts_of(const std::string& ours) {
    std::vector<TensorPart> parts;
    if (!has_word(ours, "query_key_value")) {
      if (const auto part = part_of(ours)) parts.push_back(*part);
      return parts;
    }
    for (const char* word : {"query", "key", "value"})
      if (const auto part = part_of(with_word(ours, "query_key_value", word)))
        parts.push_back(*part);
    return parts;
  }

  // Of a bias or of a norm's weight that ours has not.
  int64_t absent_size(const std::string& ours) {
    if (has_word(ours, "query_key_value")) return wide_ + 2 * narrow_;
    if (has_word(ours, "query_norm") || has_word(ours, "key_norm")) return head_dim_;
    if (!has_word(ours, "up_projection")) return width_;
    const Parameter* up = find(ours.substr(0, ours.rfind('.')) + ".weight");
    return up ? up->tensor.size(0) : 0;
  }

  std::vector<int64_t> shape_of_theirs(const PlannedTensor& planned, const std::string& ours) {
    if (planned.parts.empty()) return {absent_size(ours)};
    std::vector<int64_t> shape = shape_of(find(planned.parts.front().parameter)->tensor);
    shape[0] = 0;
    for (const TensorPart& part : planned.parts) shape[0] += part.rows;
    if (planned.transposed && shape.size() == 2) std::swap(shape[0], shape[1]);
    return shape;
  }

  const std::vector<Parameter>& parameters_;
  int64_t wide_, narrow_, vocab_size_, width_, head_dim_;
  std::set<std::string> planned_;
};

}  // namespace

at::Tensor HeadOrder::to_theirs(const at::Tensor& rows) const {
  if (is_theirs()) return rows;
  const auto heads = rows.unflatten(0, {-1, head_dim});
  const auto pairs = interleaved ? heads.unflatten(1, {head_dim / 2, 2}).transpose(1, 2)
                                 : heads.unflatten(1, {2, head_dim / 2});
  return (swapped ? pairs.flip(1) : pairs).reshape(rows.sizes());
}

at::Tensor HeadOrder::from_theirs(const at::Tensor& rows) const {
  if (is_theirs()) return rows;
  const auto theirs = rows.unflatten(0, {-1, head_dim}).unflatten(1, {2, head_dim / 2});
  const auto pairs = swapped ? theirs.flip(1) : theirs;
  return (interleaved ? pairs.transpose(1, 2) : pairs).reshape(rows.sizes());
}

TensorPlan foreign_plan(const TensorNames& names, const std::vector<Parameter>& parameters,
                        const Section& model) {
  Planner planner(parameters, model);
  TensorPlan plan;
  const auto num_layers = model.get<int64_t>("num_layers");
  for (const TensorRule& rule : names.rules) {
    const bool of_blocks = rule.ours.find('*') != rule.ours.npos;
    for (int64_t block = 0; block < (of_blocks ? num_layers : 1); ++block)
      plan.tensors.push_back(planner.plan(rule, block));
  }
  plan.order = order_of(model);
  plan.ignored.assign(names.ignored.begin(), names.ignored.end());
  plan.prefix = names.prefix;
  plan.unplanned = planner.unplanned();
  return plan;
}

at::Tensor assembled(const PlannedTensor& planned, const HeadOrder& order, const ByName& ours) {
  if (planned.parts.empty()) return at::full(planned.shape, planned.absent.value(), at::kFloat);
  std::vector<at::Tensor> rows;
  for (const TensorPart& part : planned.parts) {
    const at::Tensor whole = ours(part.parameter);
    if (whole.dim() == 0) return whole;
    const at::Tensor own = whole.narrow(0, part.first_row, part.rows);
    rows.push_back(part.turned ? order.to_theirs(own) : own);
  }
  const at::Tensor together = rows.size() == 1 ? rows.front() : at::cat(rows);
  return planned.transposed ? together.t() : together;
}

TensorPlan own_plan(const std::vector<Parameter>& parameters, std::optional<int64_t> vocab_size) {
  TensorPlan plan;
  plan.vocab_size = vocab_size;
  for (const Parameter& parameter : parameters) {
    const auto shape = shape_of(parameter.tensor);
    const bool of_vocabulary = parameter.name == kEmbedding || parameter.name == kHead;
    plan.tensors.push_back({parameter.name,
                            shape,
                            false,
                            of_vocabulary,
                            {{parameter.name, 0, shape.empty() ? 1 : shape[0], false}},
                            std::nullopt});
  }
  return plan;
}

}  // namespace exprun
