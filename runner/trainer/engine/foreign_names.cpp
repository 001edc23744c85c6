#include "engine/foreign_names.h"

#include <ATen/core/grad_mode.h>

#include <set>

#include "base/diagnostic.h"
#include "engine/name_glob.h"

namespace exprun {
namespace {

// What `*` stands for: "3" for "blocks.*.weight" and "blocks.3.weight"; empty without a star.
std::optional<std::string> match(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name ? std::optional("") : std::nullopt;
  const auto before = pattern.substr(0, star), behind = pattern.substr(star + 1);
  if (name.size() <= before.size() + behind.size() || !name.starts_with(before) ||
      !name.ends_with(behind))
    return std::nullopt;
  const auto number = name.substr(before.size(), name.size() - before.size() - behind.size());
  if (number.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return std::string(number);
}

std::string with_number(std::string_view pattern, const std::string& number) {
  std::string name(pattern);
  if (const size_t star = name.find('*'); star != std::string::npos) name.replace(star, 1, number);
  return name;
}

std::string title(const ForeignNames& names) {
  return "weights of " + std::string(names.system) + ": ";
}

ForeignName known_name(const ForeignNames& names, const std::string& ours) {
  if (auto name = foreign_name(names, ours)) return *name;
  throw Error(title(names) + "they have no name for '" + ours +
              "': the recipe's model is none of that system");
}

void copy_into(at::Tensor target, const at::Tensor& source, const std::string& what) {
  if (source.sizes() != target.sizes())
    throw Error(what + " has another shape than the recipe's model");
  target.copy_(source);
}

}  // namespace

std::optional<ForeignName> foreign_name(const ForeignNames& names, std::string_view ours) {
  for (const NameRule& rule : names.rules)
    if (const auto number = match(rule.ours, ours))
      return ForeignName{with_number(rule.theirs, *number), rule.transposed};
  return std::nullopt;
}

void load_foreign(const ForeignNames& names, const Safetensors& file,
                  const std::vector<Parameter>& parameters) {
  const at::NoGradGuard no_grad;
  std::set<std::string> left;
  for (const std::string& name : file.names()) left.insert(name);
  for (const Parameter& parameter : parameters) {
    const auto [name, transposed] = known_name(names, parameter.name);
    const auto source = file.tensor(name);
    copy_into(parameter.tensor, transposed ? source.t() : source, title(names) + "'" + name + "'");
    left.erase(name);
  }
  for (const std::string& name : left)
    if (!matches_any({names.ignored.begin(), names.ignored.end()}, name))
      throw Error(title(names) + "nothing in the recipe's model is '" + name + "'");
}

}  // namespace exprun
