#include "support/sections.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace exprun {
namespace {

const std::map<std::string, std::string>& other_tables() {
  static const std::map<std::string, std::string> kTables = {
      {"model",
       "type = \"gpt\"\nnum_layers = 1\nnum_heads = 2\nhidden_size = 8\ncontext_length = 4\n"
       "vocab_size = 11\n"},
      {"dataset", "type = \"text\"\npath = \"text.txt\"\ntokenizer = \"char\"\n"},
      {"optimizer", "type = \"adamw\"\nlr = 1e-3\n"},
      {"schedule", "type = \"constant\"\n"},
      {"evaluation", ""}};
  return kTables;
}

// The first example of every required key that `keys` does not give.
std::string required_keys(const Schema& schema, const std::string& keys) {
  std::string toml;
  if (!schema.contains("required")) return toml;
  for (const auto& key : schema.at("required")) {
    const auto name = key.get<std::string>();
    if (("\n" + keys).find("\n" + name + " =") != std::string::npos) continue;
    toml += name + " = " + schema.at("properties").at(name).at("examples").at(0).dump() + "\n";
  }
  return toml;
}

}  // namespace

ResolvedRecipe resolve_text(const std::string& toml, const DatasetInfo& dataset_info,
                            const SchemaSet& schemas) {
  const RecipeText text{{std::make_shared<SourceFile>(SourceFile{"test.toml", toml})}, {}};
  return resolve(text, dataset_info, schemas);
}

ResolvedRecipe recipe_with(const std::string& kind, const std::string& type,
                           const std::string& keys, int64_t steps) {
  const auto* schema = SchemaSet::embedded().find(kind, type);
  if (!schema) throw std::logic_error("no schema of " + kind + " " + type);
  std::string toml = "[run]\nsteps = " + std::to_string(steps) + "\n[batch]\nsequences = 2\n";
  for (const auto& [table, text] : other_tables())
    if (table != kind) toml += "[" + table + "]\n" + text;
  const bool named = kind == "evaluation";
  toml += "[" + kind + (named ? "." + type : "") + "]\ntype = \"" + type + "\"\n";
  return resolve_text(toml + required_keys(*schema, keys) + keys, {11, 1000, 100});
}

}  // namespace exprun
