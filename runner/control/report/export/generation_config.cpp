#include "control/report/export/generation_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "recipe/rules/rules.h"
#include "recipe/toml/write.h"
#include "text/example_template.h"

namespace exprun {

using nlohmann::ordered_json;

namespace {

// A text ends at any of several tokens.
void add_end(ordered_json& generation, uint32_t token) {
  const ordered_json said = generation.value("eos_token_id", ordered_json());
  ordered_json ends = said.is_array()  ? said
                      : said.is_null() ? ordered_json::array()
                                       : ordered_json::array({said});
  if (std::find(ends.begin(), ends.end(), token) == ends.end()) ends.push_back(token);
  generation["eos_token_id"] = ends.size() == 1 ? ends.front() : ends;
}

}  // namespace

void add_ends_of_responses(ordered_json& generation, const Tokenizer& tokenizer,
                           const std::string& form, std::vector<std::string>& warnings) {
  const TextBounds bounds = ExampleTemplate(form).bounds(tokenizer);
  if (bounds.end_marker.empty()) return add_end(generation, bounds.ends.back());
  const Tokens marker = tokenizer.encode(bounds.end_marker);
  if (marker.size() == 1) return add_end(generation, marker.front());
  warnings.push_back(
      "a response ends with the text '" + bounds.end_marker + "' (template \"" + form +
      "\"), for which the vocabulary has no token: other programs do not stop there");
}

void add_sampling(ordered_json& generation, const ResolvedRecipe& recipe) {
  const std::array<std::string, 3> names = {"temperature", "top_k", "top_p"};
  const auto path = [](const std::string& name) { return "evaluation.sample." + name; };
  if (std::ranges::none_of(names,
                           [&](const auto& name) { return is_written(recipe.root(), path(name)); }))
    return;
  for (const std::string& name : names)
    generation[name] = ordered_json::parse(toml_text(*recipe.find(path(name))));
  generation["do_sample"] = generation["temperature"] != 0;
  if (generation["do_sample"]) return;
  for (const std::string& name : names) generation.erase(name);  // a temperature of 0 is none there
}

}  // namespace exprun
