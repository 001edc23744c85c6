#include "recipe/recipe_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/json_text.h"

namespace exprun {

std::shared_ptr<const SourceFile> override_file(size_t number, const std::string& text) {
  return std::make_shared<SourceFile>(
      SourceFile{"<override " + std::to_string(number) + ">", text});
}

std::vector<std::shared_ptr<const SourceFile>> RecipeText::sources() const {
  std::vector<std::shared_ptr<const SourceFile>> sources = files;
  for (size_t i = 0; i < overrides.size(); ++i)
    sources.push_back(override_file(i + 1, overrides[i]));
  return sources;
}

bool RecipeText::is_old(const std::string& override_) const {
  return begun_with &&
         std::find(begun_with->begin(), begun_with->end(), override_) != begun_with->end();
}

std::string RecipeText::to_json() const {
  nlohmann::ordered_json json;
  json["files"] = nlohmann::ordered_json::array();
  for (const auto& file : files)
    json["files"].push_back({{"name", file->name}, {"text", file->text}});
  json["overrides"] = overrides;
  // A recipe is UTF-8; an override is whatever the shell passed.
  return json_text(json, 2, NotUtf8::replaced) + "\n";
}

RecipeText RecipeText::from_json(const std::string& text) {
  try {
    const nlohmann::json json = parse_json<nlohmann::json>(text);
    RecipeText recipe;
    for (const nlohmann::json& file : json.at("files"))
      recipe.files.push_back(std::make_shared<SourceFile>(
          SourceFile{file.at("name").get<std::string>(), file.at("text").get<std::string>()}));
    recipe.overrides = json.at("overrides").get<std::vector<std::string>>();
    if (recipe.files.empty()) throw Error("recipe: the stored recipe has no file");
    recipe.begun_with = recipe.overrides;
    return recipe;
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("recipe: the stored recipe is damaged: ") + json_problem(error));
  }
}

}  // namespace exprun
