#include "control/command/candidates.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "control/command/dispatch.h"
#include "control/command/globals.h"
#include "control/command/stored_runs.h"
#include "recipe/emit.h"
#include "recipe/key_lookup.h"
#include "recipe/key_path.h"
#include "recipe/resolved.h"
#include "recipe/validate_value.h"
#include "recipe/value_json.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

Words command_names() {
  Words names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  return names;
}

Words joined(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Recipes and folders beside the unfinished path.
Words recipes(const std::string& last) {
  const std::string folder = last.substr(0, last.rfind('/') + 1);  // npos + 1 is 0
  Words found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) continue;
    if (entry.is_directory(error)) found.push_back(folder + name + '/');
    if (name.ends_with(".toml")) found.push_back(folder + name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Words runs(const StoreFolder& folder) try {
  std::set<std::string> words;
  for (const RunRow& run : open_store(folder).runs()) words.insert({run.folder, run.name});
  if (!words.empty()) words.insert("@last");
  return {words.begin(), words.end()};
} catch (const Error&) {
  return {};
}

RecipeText recipe_named(const std::string& subject, const StoreFolder& folder) {
  if (names_recipe(subject) && subject.ends_with(".toml")) return read_recipe(subject, {});
  const Store store = open_store(folder);
  return RecipeText::from_json(store.recipe_json(find_run(store, folder, subject).id));
}

Words overrides(const std::string& subject, const std::string& last,
                const StoreFolder& folder) try {
  return override_candidates(recipe_named(subject, folder), last);
} catch (const Error&) {
  return {};
} catch (const RecipeError&) {
  return {};
}

// The first word that is no option.
std::string subject_of(const Words& before) {
  const auto found = std::find_if(before.begin(), before.end(),
                                  [](const std::string& word) { return !word.starts_with('-'); });
  return found == before.end() ? "" : *found;
}

Words values_of_option(const std::string& option, const std::string& last,
                       const StoreFolder& folder) {
  if (option == "--model") return SchemaSet::embedded().types("model");
  if (option == "--data") return SchemaSet::embedded().types("dataset");
  return joined(recipes(last), runs(folder));  // --diff
}

bool takes_recipe(const std::string& command) {
  return command == "check" || command == "show" || command == "sweep";
}

bool takes_overrides(const std::string& command) {
  return takes_recipe(command) || command == "resume" || command == "RECIPE";
}

Words subjects(const std::string& command, const std::string& last, const StoreFolder& folder) {
  if (command == "help") return command_names();
  if (command == "completion") return {"bash", "zsh", "fish"};
  if (command == "schema") return SchemaSet::embedded().names();
  if (command == "show") return joined(recipes(last), runs(folder));
  return takes_recipe(command) ? recipes(last) : runs(folder);
}

// The options of a command are its own to say.
Words options_of(const std::string& command, const Globals& globals) {
  if (command == "RECIPE") run_recipe({"--list-options"}, globals);
  for (const Command& known : commands())
    if (command == known.name) known.run({"--list-options"}, globals);
  return {};
}

// The values that a schema names one by one.
Words named_values(const std::string& path, const Schema& schema) {
  Words values;
  if (last_part(path) == "type") values = SchemaSet::embedded().types(split_path(path).front());
  if (schema.contains("enum"))
    for (const Schema& choice : schema["enum"])
      values.push_back(choice.is_string() ? choice.get<std::string>() : json_text(choice));
  if (allows_type(schema, "boolean")) values = joined(values, {"true", "false"});
  if (may_be_auto(schema)) values.push_back("auto");
  if (values.empty() && schema.contains("default"))
    values.push_back(schema["default"].is_string() ? schema["default"].get<std::string>()
                                                   : json_text(schema["default"]));
  return values;
}

// Full paths, and the last part alone where only one key has it.
Words key_names(const Words& paths) {
  std::map<std::string, int> count;
  for (const std::string& path : paths) ++count[last_part(path)];
  Words names;
  for (const std::string& path : paths) {
    if (count[last_part(path)] == 1) names.push_back(last_part(path));
    names.push_back(path);
  }
  return names;
}

}  // namespace

Words override_candidates(const RecipeText& recipe, const std::string& last) {
  const SchemaSet& schemas = SchemaSet::embedded();
  const Judgement judgement = judge(recipe);
  const Table& root = judgement.recipe.root();
  const size_t equals = last.find('=');
  Words found;
  if (equals == std::string::npos) {
    const bool removes = last.starts_with('~');
    for (const std::string& name : key_names(declared_paths(schemas, root)))
      found.push_back(removes ? '~' + name : name + '=');
    return found;
  }
  const std::string key = last.substr(0, equals);
  const Words paths = matching_paths(schemas, root, key);
  if (paths.size() != 1) return {};
  for (const std::string& value : named_values(paths[0], *schema_at(schemas, root, paths[0])))
    found.push_back(key + '=' + value);
  return found;
}

Words candidates(Words typed) {
  const std::string last = typed.empty() ? "" : typed.back();
  if (!typed.empty()) typed.pop_back();
  if (!typed.empty() && typed.back() == "--store") return {};
  const Globals globals = take_globals(typed);
  if (typed.empty()) return joined(joined(command_names(), recipes(last)), {"--help", "--version"});
  const Words names = command_names();
  const bool runs_recipe = std::find(names.begin(), names.end(), typed[0]) == names.end();
  const std::string command = runs_recipe ? "RECIPE" : typed[0];
  const Words before(typed.begin() + (runs_recipe ? 0 : 1), typed.end());
  if (last.starts_with('-')) return options_of(command, globals);
  if (!before.empty() && before.back().starts_with("--") && before.back() != "--new" &&
      (command == "new" || before.back() == "--diff"))
    return values_of_option(before.back(), last, globals.store);
  const std::string subject = subject_of(before);
  if (subject.empty()) return subjects(command, last, globals.store);
  return takes_overrides(command) ? overrides(subject, last, globals.store) : Words{};
}

}  // namespace exprun
