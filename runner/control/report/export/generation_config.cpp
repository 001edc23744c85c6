#include "control/report/export/generation_config.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "recipe/schema/schema.h"
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
  const Schema& keys = SchemaSet::embedded().find("evaluation", "sample")->at("properties");
  std::map<std::string, ordered_json> values;
  bool asks_for_something = false;
  for (const char* name : {"temperature", "top_k", "top_p"}) {
    const Value* const value = recipe.find(std::string("evaluation.sample.") + name);
    if (!value) return;
    values[name] = ordered_json::parse(toml_text(*value));
    asks_for_something |= values[name] != ordered_json(keys.at(name).at("default"));
  }
  if (!asks_for_something) return;
  generation["do_sample"] = values["temperature"] != 0;
  for (const auto& [name, value] : values) {
    generation.erase(name);
    if (generation["do_sample"]) generation[name] = value;  // a temperature of 0 is none there
  }
}

}  // namespace exprun
