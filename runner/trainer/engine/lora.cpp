#include "engine/lora.h"

#include <algorithm>

#include "engine/parameter.h"

namespace exprun {
namespace {

bool has_word_of(std::string_view name, std::string_view word) {
  for (size_t begin = 0;;) {
    const size_t end = std::min(name.find('.', begin), name.size());
    if (name.substr(begin, end - begin) == word) return true;
    if (end == name.size()) return false;
    begin = end + 1;
  }
}

}  // namespace

bool LoraSettings::adapts(std::string_view layer) const {
  return std::any_of(targets.begin(), targets.end(), [&](const std::string& target) {
    return glob_matches(target, layer) || has_word_of(layer, target);
  });
}

bool LoraSettings::trains(std::string_view parameter) const {
  return is_adapter(parameter) || matches_any(trained, parameter);
}

std::optional<LoraSettings> LoraSettings::read(const Section& model) {
  if (!model.has("lora")) return std::nullopt;
  const Section lora = model.table("lora");
  return LoraSettings{lora.get<int64_t>("rank"), lora.get<double>("alpha"),
                      lora.get<double>("dropout"), lora.get<std::vector<std::string>>("targets"),
                      lora.get<std::vector<std::string>>("trained")};
}

bool is_adapter(std::string_view parameter) {
  return parameter.ends_with(kLoraA) || parameter.ends_with(kLoraB);
}

}  // namespace exprun
