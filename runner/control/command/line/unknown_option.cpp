#include "control/command/line/unknown_option.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/strings.h"
#include "base/suggest.h"
#include "control/command/command.h"
#include "control/report/runs_table.h"
#include "control/report/table.h"
#include "recipe/override_value.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/schema/key_synonyms.h"

namespace exprun {
namespace {

// "'run.length="3 epochs"'": the change with this value, or with VALUE for none or where the
// synonym's note says that the key means another quantity; the key and the note where the value
// cannot be one of it.
std::string written_change(const std::string& key, const Schema& schema, const std::string& value,
                           std::string_view note) {
  const bool counts_epochs = note.find("epochs") != note.npos;
  const bool is_other_quantity = !note.empty() && !note.starts_with(", as in");
  if (value.empty() || is_other_quantity) return "'" + key + "=VALUE'" + std::string(note);
  const auto meant = override_value_meant(schema, value, counts_epochs ? "epochs" : "");
  if (!meant && !note.empty()) return "'" + key + "'" + std::string(note);
  return "'" + key + '=' + meant.value_or(value) + "'";
}

std::string_view without_dashes(std::string_view option) {
  return option.substr(std::min(option.size(), option.find_first_not_of('-')));
}

// The one that is almost the same, or that the word begins; the dashes make none alike.
std::optional<std::string> option_like(const std::string& word,
                                       const std::vector<std::string>& options) {
  std::vector<std::string> names;
  for (const std::string& option : options) names.emplace_back(without_dashes(option));
  const auto meant = choice_meant(without_dashes(word), names);
  if (!meant) return std::nullopt;
  return options[static_cast<size_t>(std::ranges::find(names, *meant) - names.begin())];
}

// "exprun sweep ls" of "--list"; empty where the command has none like it.
std::string subcommand_for(const std::string& command, const std::string& option) {
  const Command* parent = find_command(commands(), command);
  if (!parent || !parent->subcommands) return "";
  const std::string_view word = without_dashes(option);
  for (const Command& each : parent->subcommands())
    if (word == each.name || command_synonym(word, {each.name}) != "")
      return "exprun " + command + ' ' + each.name;
  return "";
}

bool is_key_of_another_evaluation(const std::string& key) {
  const SchemaSet& schemas = SchemaSet::embedded();
  return std::ranges::any_of(schemas.types("evaluation"), [&](const std::string& type) {
    return type != "sample" && schemas.find("evaluation", type)->at("properties").contains(key);
  });
}

std::string as_key(const std::string& option) {
  std::string key(without_dashes(option));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

// For another tool's option that needs no key here: "--compile". Empty for all others.
std::string why_no_key(const std::string& option) {
  const KeySynonym* synonym = key_synonym(as_key(option));
  return synonym && !*synonym->path ? synonym->note : "";
}

// "'device=cpu'" of "--device=cpu", and "'weight_decay=VALUE'" of "--weight-decay"; nothing where
// no key of a recipe is meant, or of a sample where the command takes those or may be mistaken for
// the one that does.
std::optional<std::string> change_for(const std::string& word, const std::string& option,
                                      const std::string& command,
                                      const std::vector<std::string>& options) {
  const std::string key = as_key(option);
  const SchemaSet& schemas = SchemaSet::embedded();
  const std::string value = word == option ? "" : word.substr(option.size() + 1);
  const KeySynonym* synonym = key_synonym(key);
  if (command == "eval" && is_key_of_another_evaluation(key)) return std::nullopt;
  if (command == "eval" || command == "sample") return sampling_change(key, value, options);
  if (const auto paths = matching_paths(schemas, {}, key); !paths.empty())
    return written_change(key, *schema_at(schemas, {}, paths.front()), value, "");
  if (!synonym || !*synonym->path) return std::nullopt;
  const Schema* const known = schema_at(schemas, {}, synonym->path);
  if (known == nullptr) return std::nullopt;
  return written_change(synonym->path, *known, value, synonym->note);
}

// Whether --where would know it: a column of ls, or the key of one setting.
bool can_be_compared(const std::string& name) {
  if (find_column(ls_table({}, 0).columns, name)) return true;
  const SchemaSet& schemas = SchemaSet::embedded();
  const auto paths = matching_paths(schemas, {}, name);
  return paths.size() == 1 && !allows_type(*schema_at(schemas, {}, paths.front()), "object");
}

// "1" of "--top=1", and of "--top" where it is the `next` word; empty where the next is an option.
std::string value_of(const std::string& word, const std::string& option, const std::string& next) {
  if (word != option) return word.substr(option.size() + 1);
  return next.starts_with('-') ? "" : next;
}

// "--where state=finished" of "--state finished", where the command takes conditions: of a column
// of ls, a tag or a key of a recipe.
std::optional<std::string> condition_for(const std::string& word, const std::string& option,
                                         const std::string& next,
                                         const std::vector<std::string>& options) {
  if (!option.starts_with("--") || std::ranges::find(options, "--where") == options.end())
    return std::nullopt;
  std::string name = option.substr(2);
  std::replace(name.begin(), name.end(), '-', '_');
  std::string value = value_of(word, option, next);
  if (value.empty()) value = "VALUE";
  if (name == "tags" && std::ranges::find(options, "--tag") != options.end()) return std::nullopt;
  if (name == "tag" || name == "tags") return "--where " + shell_quoted("tag(" + value + ")");
  if (!can_be_compared(name)) return std::nullopt;
  return "--where " + shell_quoted(name + "=" + value);
}

// For an option that names a file where the command prints what would go into it, or has an option
// for each kind of file.
std::string advice_on_output(const std::string& word, const std::string& option,
                             const std::string& next, const std::vector<std::string>& options) {
  const auto has = [&](const char* known) {
    return std::ranges::find(options, known) != options.end();
  };
  if (option != "-o" && option != "--output" && option != "--out") return "";
  const std::string file = value_of(word, option, next);
  for (const char* kind : {"html", "png", "svg"}) {
    const std::string its_option = std::string("--") + kind;
    if (file.ends_with(std::string(".") + kind) && has(its_option.c_str()))
      return "; did you mean '" + its_option + "'?";
  }
  if (has("--svg")) return "; did you mean '--svg'?";
  if (file.ends_with(".png") || file.ends_with(".svg"))
    return "; `exprun plot` writes pictures: --png FILE, --svg FILE";
  if ((!has("--csv") && !has("--json")) || has("--out") || has("--to")) return "";
  return "; what is printed goes to a file with > " + (file.empty() ? "FILE" : shell_quoted(file));
}

}  // namespace

std::optional<std::string> sampling_change(std::string key, const std::string& value,
                                           const std::vector<std::string>& options) {
  constexpr std::string_view kTable = "evaluation.sample.";
  const KeySynonym* synonym = key_synonym(key);
  if (synonym && std::string_view(synonym->path).starts_with(kTable))
    key = synonym->path + kTable.size();
  const SchemaSet& schemas = SchemaSet::embedded();
  const auto written = [&](const std::string& name) -> std::optional<std::string> {
    const Schema* const known = schema_at(schemas, {}, std::string(kTable) + name);
    return known ? std::optional(written_change(name, *known, value, "")) : std::nullopt;
  };
  if (const auto whole = written(key)) return whole;
  std::vector<std::string> names = options;
  for (std::string& name : names) name.erase(0, name.find_first_not_of('-'));
  for (const auto& [name, schema] : schemas.find("evaluation", "sample")->at("properties").items())
    names.push_back(name);
  const auto meant = nearest(key, names);
  const bool is_key = meant && std::ranges::find(options, "--" + *meant) == options.end();
  return is_key ? written(*meant) : std::nullopt;
}

std::string advice_on_option(const std::string& word, const std::string& next,
                             const std::string& command, const std::string& usage,
                             const std::vector<std::string>& options) {
  const std::string option = word.substr(0, word.find('='));
  auto near = option_synonym(option, options);
  if (!near) {
    if (const std::string meant = subcommand_for(command, option); !meant.empty())
      return "; did you mean '" + meant + "'?";
    const bool reads_recipe = usage.find("RECIPE") != std::string::npos;
    if (const std::string note = reads_recipe ? option_note(option, command) : ""; !note.empty())
      return note;
    if (const std::string format = "--" + value_of(word, option, next);
        option == "--format" && std::ranges::find(options, format) != options.end())
      return "; did you mean '" + format + "'?";
    if (usage.find("key=") != std::string::npos) {
      if (const auto change = change_for(word, option, command, options))
        return command == "eval"
                   ? "; eval has no sampling options; exprun sample RUN takes " + *change
                   : "; did you mean " + *change + "?";
      if (const std::string note = why_no_key(option); !note.empty()) return "; " + note;
    }
    if (option == "--sweep" && usage.find("[SWEEP]") != std::string::npos)
      return "; the sweep is a word without an option";
    if (option == "--sweep" && command == "export") {
      const std::string sweep = value_of(word, option, next);
      return "; name the runs: `exprun ls --sweep " +
             (sweep.empty() ? "SWEEP" : shell_quoted(sweep)) + "` lists them";
    }
    if (option == "--all" && usage.find("[RUN...]") != std::string::npos)
      return "; without RUN, the command is about all of them";
    if (option == "--all" && usage.find("RUN...") != std::string::npos)
      return "; to name all runs, write '*' in quotes";
    if (const std::string advice = advice_on_output(word, option, next, options); !advice.empty())
      return advice;
    if (const auto condition = condition_for(word, option, next, options))
      return "; did you mean " + *condition + "?";
    near = option_like(option, options);
    if (!near && command == "tag") {
      if (option == "--add" || option == "-a") return "; a word without an option is added";
      const std::string tag = word.substr(std::min(word.size(), word.find_first_not_of('-')));
      if (tag.size() > 1)  // the opposite of "good"
        return "; to remove a tag, write " + shell_quoted(tag) + " --remove";
      if (option == "-d") {  // as of git
        const std::string which = value_of(word, option, next);
        return "; to remove a tag, write " + (which.empty() ? "TAG" : shell_quoted(which)) +
               " --remove";
      }
    }
  }
  return near ? "; did you mean '" + *near + "'?" : "";
}

}  // namespace exprun
