#include "engine/weights/name_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "base/strings.h"

namespace exprun {
namespace {

constexpr const char* kKey = "init_names";
constexpr std::string_view kTransposed = "(transposed)";
constexpr const char* kForm =
    "write \"PARAMETER = TENSOR\" or \"PARAMETER = TENSOR (transposed)\"; * is the number of a "
    "block on both sides";

TensorRule rule_of(const Section& model, const std::string& line) {
  const size_t equals = line.find('=');
  if (equals == line.npos) throw model.error(kKey, "'" + line + "' names no tensor", kForm);
  const std::string ours(trimmed(std::string_view(line).substr(0, equals)));
  std::string_view theirs = trimmed(std::string_view(line).substr(equals + 1));
  const bool transposed = theirs.ends_with(kTransposed);
  if (transposed) theirs = trimmed(theirs.substr(0, theirs.size() - kTransposed.size()));
  const auto stars = std::count(ours.begin(), ours.end(), '*');
  if (ours.empty() || theirs.empty() || stars > 1 ||
      std::count(theirs.begin(), theirs.end(), '*') != stars)
    throw model.error(kKey, "'" + line + "' is not a pair of names", kForm);
  return {ours, std::string(theirs), transposed, {}};
}

// "blocks.*.attention.query_key_value.weight": each once, blocks without their numbers.
std::vector<std::string> patterns_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> patterns;
  for (const Parameter& parameter : parameters) {
    std::string pattern = parameter.name;
    if (pattern.starts_with("blocks.")) pattern.replace(7, pattern.find('.', 7) - 7, "*");
    if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end())
      patterns.push_back(std::move(pattern));
  }
  return patterns;
}

// Of a joined matrix a part alone may be listed, and any parameter twice.
void require_whole(const Section& model, const Parameter& parameter,
                   std::vector<TensorPart> parts) {
  const bool of_tokens = parameter.name == kEmbedding || parameter.name == kHead;
  const int64_t all = of_tokens ? model.get<int64_t>("vocab_size") : parameter.tensor.size(0);
  std::ranges::sort(parts, {}, &TensorPart::first_row);
  int64_t next = 0;
  for (const TensorPart& part : parts) {
    if (part.first_row < next)
      throw model.error(kKey, "'" + parameter.name + "' is listed twice", kForm);
    if (part.first_row > next) break;
    next += part.rows;
  }
  if (next < all)
    throw model.error(kKey, "only a part of '" + parameter.name + "' is listed",
                      "list query, key and value");
}

}  // namespace

TensorPlan plan_by_names(const Section& model, const std::vector<Parameter>& parameters) {
  if (model.type() != "gpt")
    throw model.error(kKey, "'init_names' is only for the model \"gpt\"", "remove it");
  TensorPlan plan;
  std::map<std::string, std::vector<TensorPart>> listed_parts;  // by parameter
  for (const std::string& line : model.get<std::vector<std::string>>(kKey)) {
    TensorPlan of_line = foreign_plan({"", {rule_of(model, line)}, "", {}}, parameters, model);
    for (PlannedTensor& planned : of_line.tensors) {
      if (planned.parts.empty())
        throw model.error(kKey, "the model has no parameter that '" + line + "' could mean",
                          "it has " + listed(patterns_of(parameters)));
      if (planned.transposed && planned.shape.size() != 2)
        throw model.error(kKey, "'" + line + "' is not a matrix", "leave out (transposed)");
      for (const TensorPart& part : planned.parts) listed_parts[part.parameter].push_back(part);
      plan.tensors.push_back(std::move(planned));
    }
  }
  std::vector<Parameter> others;
  for (const Parameter& parameter : parameters)
    if (const auto parts = listed_parts.find(parameter.name); parts == listed_parts.end())
      others.push_back(parameter);
    else
      require_whole(model, parameter, parts->second);
  for (PlannedTensor& planned : own_plan(others).tensors) plan.tensors.push_back(planned);
  return plan;
}

}  // namespace exprun
