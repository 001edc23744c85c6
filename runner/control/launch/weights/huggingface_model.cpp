#include "control/launch/weights/huggingface_model.h"

#include <memory>
#include <utility>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "huggingface/model_config.h"
#include "huggingface/tokenizer_settings.h"
#include "recipe/key_path.h"
#include "recipe/recipe_text.h"
#include "recipe/toml/write.h"

namespace exprun {

namespace fs = std::filesystem;

bool is_huggingface_folder(const fs::path& folder) {
  return file_exists(folder / kConfigFile);
}

std::string advice_on_own_tensors(const fs::path& folder) {
  if (is_huggingface_folder(folder) || !file_exists(folder / kExportedRecipe)) return "";
  return "; transformers has no architecture for its model, so its tensors have exprun's names: "
         "model.init_from = " +
         toml_quoted(folder.string()) + " with the [model] of " +
         (folder / kExportedRecipe).string() + " takes them";
}

std::map<std::string, std::string> model_keys_of(const fs::path& folder) {
  const auto file = folder / kConfigFile;
  Table model;
  for (const auto& [path, json] : model_keys(read_config(file), file)) {
    Table* table = &model;
    const std::vector<std::string> parts = split_path(path);
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      if (!table->find(parts[i])) table->set(parts[i], {}, Value(Table(), {}, Origin::file));
      table = table->find(parts[i])->as<Table>();
    }
    table->set(parts.back(), {}, value_of_json(nlohmann::ordered_json(json), Origin::file));
  }
  std::map<std::string, std::string> keys = {{"init_from", toml_quoted(folder.string())}};
  for (const Entry& entry : model.entries()) keys.emplace(entry.key, toml_text(entry.value));
  return keys;
}

std::optional<fs::path> tokenizer_of(const fs::path& folder) {
  if (path_exists(folder / "tokenizer.json")) return folder / "tokenizer.json";
  if (path_exists(folder / "merges.txt") && path_exists(folder / "vocab.json")) return folder;
  return std::nullopt;
}

std::optional<std::string> template_of(const fs::path& folder) {
  const auto recipe = exported_recipe(folder);
  if (!recipe || text_at(recipe->root(), "dataset.type") != "instruction") return std::nullopt;
  return text_at(recipe->root(), "dataset.template");
}

std::optional<ResolvedRecipe> exported_recipe(const fs::path& folder) try {
  return try_resolve(read_recipe((folder / kExportedRecipe).string(), {})).recipe;
} catch (const Error&) {
  return std::nullopt;
} catch (const RecipeError&) {
  return std::nullopt;
}

std::string dtype_of(const fs::path& folder) {
  const nlohmann::json config = read_config(folder / kConfigFile);
  std::string dtype;
  for (const char* key : {"torch_dtype", "dtype"})  // the first is what it was called before
    if (config.contains(key) && config[key].is_string()) dtype = config[key];
  return dtype == "bfloat16" ? "bf16" : dtype == "float16" ? "fp16" : "fp32";
}

namespace {

std::map<std::string, std::string> generation_of(const fs::path& folder) try {
  const auto settings = tokenizer_settings(folder);
  if (!settings || !settings->generation_config.is_object()) return {};
  const nlohmann::json& config = settings->generation_config;
  const auto number = [&](const char* key) {
    const auto found = config.find(key);
    return found != config.end() && found->is_number() ? found->get<double>() : -1.0;
  };
  std::map<std::string, std::string> keys;
  if (number("temperature") > 0) keys["temperature"] = config["temperature"].dump();
  if (config.value("do_sample", nlohmann::json()) == false) keys["temperature"] = "0";
  if (number("top_k") >= 0 && config["top_k"].is_number_integer())
    keys["top_k"] = config["top_k"].dump();
  if (number("top_p") > 0 && number("top_p") <= 1) keys["top_p"] = config["top_p"].dump();
  return keys;
} catch (const Error&) {
  return {};
}

}  // namespace

std::map<std::string, std::string> sampling_of(const fs::path& folder) {
  auto keys = generation_of(folder);
  const auto recipe = exported_recipe(folder);
  const auto system = recipe ? text_at(recipe->root(), "evaluation.sample.system") : std::nullopt;
  if (system) keys["system"] = toml_quoted(*system);
  return keys;
}

RecipeText recipe_of_model(const fs::path& folder) {
  const auto form = template_of(folder);
  std::string text = "[run]\nsteps = 1\n[metrics]\nval_loss = false\n[model]\ntype = \"gpt\"\n";
  for (const auto& [key, value] : model_keys_of(folder)) text += key + " = " + value + "\n";
  text += "[dataset]\ntype = " + std::string(form ? "\"instruction\"" : "\"text\"") +
          "\npath = " + toml_quoted((folder / kConfigFile).string());
  if (form) text += "\ntemplate = " + toml_quoted(*form);
  if (const auto tokenizer = tokenizer_of(folder))
    text += "\ntokenizer = \"huggingface\"\nvocabulary = " + toml_quoted(tokenizer->string());
  text +=
      "\nvalidation_fraction = 0.0\n[batch]\nsequences = 1\n[optimizer]\ntype = \"adamw\"\nlr "
      "= 1e-3\n"
      "[schedule]\ntype = \"constant\"\n";
  return {{std::make_shared<SourceFile>(SourceFile{folder.string(), std::move(text)})}, {}};
}

}  // namespace exprun
