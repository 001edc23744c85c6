#include "engine/buffers/optimizer_groups.h"

#include <algorithm>
#include <functional>
#include <regex>

#include "base/strings.h"
#include "base/suggest.h"
#include "engine/optimizer.h"
#include "engine/parameter.h"
#include "recipe/key_path.h"

namespace exprun {
namespace {

constexpr const char* kDefaultGroup = "default";

// By `decay` of an optimizer's table.
bool decays(const std::string& which, ParameterClass kind) {
  if (which == "matrices_and_embeddings") return kind != ParameterClass::vector;
  return which == "all";
}

OptimizerGroup filled(std::string name, const Section& section,
                      const std::vector<Parameter>& parameters) {
  // A type without the key applies its weight decay to all that it updates.
  const std::string which = section.has("decay") ? section.get<std::string>("decay") : "all";
  OptimizerGroup group{std::move(name), section, {}, {}};
  for (const Parameter& parameter : parameters) {
    auto& part = decays(which, parameter.kind) ? group.decayed : group.undecayed;
    part.push_back(parameter);
  }
  return group;
}

// The matrices of `some`, in quotes; as globs, one for all blocks, where those match no others of
// `all`, which a group may take: "blocks.*.attention.output.weight".
std::vector<std::string> globs_of_matrices(const std::vector<Parameter>& some,
                                           const std::vector<Parameter>& all) {
  static const std::regex number("\\.[0-9]+\\.");
  const auto count = [](const std::vector<Parameter>& parameters, const std::string& glob) {
    return std::count_if(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
      return glob_matches(glob, parameter.name);
    });
  };
  std::vector<std::string> globs;
  for (const Parameter& parameter : some) {
    if (parameter.kind != ParameterClass::matrix) continue;
    const std::string glob = std::regex_replace(parameter.name, number, ".*.");
    const bool matches_others = count(all, glob) > count(some, glob);
    const std::string written = '"' + (matches_others ? parameter.name : glob) + '"';
    if (std::find(globs.begin(), globs.end(), written) == globs.end()) globs.push_back(written);
  }
  return globs;
}

// `remedy` says what to do instead: it takes its time.
void check_takes(const OptimizerGroup& group, std::string_view key,
                 const std::function<std::string()>& remedy) {
  const std::string type = group.section.type();
  if (Registry<Optimizer>::instance().find(type).granularity ==
      Optimizer::Granularity::element_wise)
    return;
  for (const auto* part : {&group.decayed, &group.undecayed})
    for (const Parameter& parameter : *part)
      if (parameter.kind != ParameterClass::matrix)
        throw group.section.error(key,
                                  "optimizer '" + type + "' updates only matrices, but '" +
                                      parameter.name + "' belongs to the class '" +
                                      to_string(parameter.kind) + "'",
                                  remedy());
}

// Of an optimizer of matrices alone that would have all that is left.
std::string remedy_for_default(const std::string& type, const std::vector<Parameter>& left,
                               const std::vector<Parameter>& all) {
  const auto globs = globs_of_matrices(left, all);
  if (globs.empty()) return "choose another optimizer, such as \"adamw\"";
  return "set type = \"adamw\" here, and add [optimizer.groups.matrices] with type = \"" + type +
         "\", its lr and match = " + "[" + joined(globs) + "]";
}

// Of a group that has others than matrices.
std::string remedy_for_group(const std::vector<Parameter>& taken,
                             const std::vector<Parameter>& all) {
  const auto globs = globs_of_matrices(taken, all);
  if (globs.empty()) return "match it in a group with another optimizer";
  return "these match only matrices: match = [" + joined(globs) + "]";
}

std::vector<std::string> globs_of(const Section& group) {
  return group.get<std::vector<std::string>>("match");
}

// Takes what the group's globs match out of `left`.
std::vector<Parameter> take_matching(const Section& group, std::vector<Parameter>& left) {
  const auto globs = globs_of(group);
  const auto first_taken = std::stable_partition(
      left.begin(), left.end(),
      [&](const Parameter& parameter) { return !matches_any(globs, parameter.name); });
  std::vector<Parameter> taken(first_taken, left.end());
  left.erase(first_taken, left.end());
  return taken;
}

void check_in_no_group_before(const Section& groups, const std::string& name,
                              const std::vector<Parameter>& parameters) {
  const auto globs = globs_of(groups.table(name));
  for (const std::string& before : groups.keys()) {
    if (before == name) return;
    const auto globs_before = globs_of(groups.table(before));
    for (const Parameter& parameter : parameters)
      if (matches_any(globs, parameter.name) && matches_any(globs_before, parameter.name))
        throw groups.table(name).error("match",
                                       "parameter '" + parameter.name + "' is already in [" +
                                           join_path("optimizer.groups", before) + "]",
                                       "a parameter can be in only one group");
  }
}

RecipeError takes_nothing(const Section& group, const std::string& name,
                          const std::vector<Parameter>& parameters) {
  const auto globs = globs_of(group);
  for (const Parameter& parameter : parameters)
    if (matches_any(globs, parameter.name))
      return group.error("match", "all parameters that match group '" + name + "' are frozen",
                         "remove the group, or match less in 'frozen' of [optimizer]; with "
                         "[model.lora] only the adapters and what its 'trained' names are trained");
  return group.error("match", "no parameter matches group '" + name + "'",
                     "one parameter is named '" + parameters[parameters.size() / 2].name + "'");
}

std::string suggested_for(const std::string& glob, const std::vector<Parameter>& parameters) {
  std::vector<std::string> candidates;  // names, and all that begins as they do: "blocks.0.*"
  for (const Parameter& parameter : parameters) {
    const std::string& name = parameter.name;
    candidates.push_back(name);
    for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
      candidates.push_back(name.substr(0, dot) + ".*");
  }
  if (const auto similar = nearest(glob, candidates)) return "did you mean '" + *similar + "'?";
  return "one parameter is named '" + parameters[parameters.size() / 2].name + "'";
}

// Takes those of `trained`, the parameters that are not frozen, out of `left`.
std::vector<OptimizerGroup> named_groups(const Section& groups,
                                         const std::vector<Parameter>& parameters,
                                         const std::vector<Parameter>& trained,
                                         std::vector<Parameter>& left) {
  std::vector<OptimizerGroup> result;
  for (const std::string& name : groups.keys()) {
    check_in_no_group_before(groups, name, parameters);
    const Section section = groups.table(name);
    const auto taken = take_matching(section, left);
    if (taken.empty()) throw takes_nothing(section, name, parameters);
    result.push_back(filled(name, section, taken));
    check_takes(result.back(), "match", [&] { return remedy_for_group(taken, trained); });
  }
  return result;
}

}  // namespace

std::vector<Parameter> freeze(const Section& optimizer, const std::vector<Parameter>& parameters) {
  const auto globs = optimizer.find<std::vector<std::string>>("frozen");
  Diagnostics mistakes;
  for (const std::string& glob : globs.value_or(std::vector<std::string>()))
    if (std::none_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
          return glob_matches(glob, parameter.name);
        }))
      mistakes.push_back(optimizer
                             .error("frozen", "no parameter matches '" + glob + "'",
                                    suggested_for(glob, parameters))
                             .diagnostics()
                             .front());
  if (!mistakes.empty()) throw RecipeError(std::move(mistakes));
  std::vector<Parameter> frozen;
  for (const Parameter& parameter : parameters) {
    if (globs && matches_any(*globs, parameter.name)) parameter.tensor.set_requires_grad(false);
    if (parameter.is_frozen()) frozen.push_back(parameter);
  }
  if (frozen.size() == parameters.size())
    throw optimizer.error("frozen", "all parameters are frozen: there is nothing to train",
                          "leave at least one parameter unmatched");
  return frozen;
}

std::vector<OptimizerGroup> optimizer_groups(const Section& optimizer,
                                             const std::vector<Parameter>& parameters) {
  std::vector<Parameter> trained;
  for (const Parameter& parameter : parameters)
    if (!parameter.is_frozen()) trained.push_back(parameter);
  std::vector<Parameter> left = trained;
  std::vector<OptimizerGroup> result;
  if (optimizer.has("groups"))
    result = named_groups(optimizer.table("groups"), parameters, trained, left);
  if (optimizer.has("type") && !left.empty()) {
    result.insert(result.begin(), filled(kDefaultGroup, optimizer, left));
    check_takes(result.front(), "type",
                [&] { return remedy_for_default(optimizer.type(), left, trained); });
  } else if (!left.empty()) {
    throw optimizer.error(
        "groups", "parameter '" + left.front().name + "' is not in any group of [optimizer.groups]",
        "match it in a group, or set the type of [optimizer] for the remaining parameters");
  }
  return result;
}

}  // namespace exprun
