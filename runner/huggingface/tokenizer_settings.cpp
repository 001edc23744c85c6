#include "huggingface/tokenizer_settings.h"

#include <algorithm>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "huggingface/model_config.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kNamesCode = "auto_map";
constexpr const char* kGenerationConfig = "generation_config.json";
constexpr const char* kIds[] = {"bos_token_id", "eos_token_id", "pad_token_id"};
constexpr uintmax_t kMostTemplateBytes = 1'000'000;

bool is_there(const fs::path& file) {
  return file_exists(file);
}

json object_in(const fs::path& file) {
  return is_there(file) ? read_config(file) : json();
}

// Other programs have a config.json too: one beside a bare vocabulary may be theirs.
bool is_of_huggingface(const fs::path& folder) {
  constexpr const char* kNames[] = {"tokenizer_config.json", kGenerationConfig,
                                    "model.safetensors",     "model.safetensors.index.json",
                                    "pytorch_model.bin",     "pytorch_model.bin.index.json"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* name) { return is_there(folder / name); });
}

bool is_id(const json& value) {
  return value.is_number_unsigned();
}

// The ids that a file says; none of a null object.
std::map<std::string, json> ids_of(const json& config, const fs::path& file) {
  std::map<std::string, json> ids;
  for (const char* name : kIds) {
    if (!config.contains(name)) continue;
    const json& value = config[name];
    const bool is_list =
        value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), is_id);
    if (!value.is_null() && !is_id(value) && !is_list)
      throw Error("huggingface: '" + file.string() + "' is damaged: " + name + " is " +
                  json_text(value) + ", not an id, a list of ids or null");
    ids[name] = value;
  }
  return ids;
}

void require_small(const fs::path& chat_template) {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(chat_template, error);
  if (!error && bytes > kMostTemplateBytes)
    throw Error("huggingface: '" + chat_template.string() + "' has " +
                with_thousands(static_cast<int64_t>(bytes)) +
                " bytes; a chat template has at most 1 MB");
}

std::map<std::string, std::string> other_files(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const char* name : {"special_tokens_map.json", "added_tokens.json", "chat_template.jinja"}) {
    const fs::path file = folder / name;
    if (!is_there(file)) continue;
    if (file.extension() == ".json") read_config(file);
    if (file.extension() == ".jinja") require_small(file);
    files[name] = read_file(file);
    if (first_invalid_byte(files[name]))
      throw Error("huggingface: '" + file.string() + "' is damaged: it is not UTF-8");
  }
  return files;
}

}  // namespace

std::vector<uint64_t> TokenizerSettings::end_ids() const {
  constexpr const char* kEnd = "eos_token_id";
  std::vector<uint64_t> ids;
  const auto add = [&](const json& value) {
    if (value.is_array()) ids.insert(ids.end(), value.begin(), value.end());
    if (is_id(value)) ids.push_back(value.get<uint64_t>());
  };
  if (generation_config.contains(kEnd)) add(generation_config[kEnd]);
  if (const auto found = this->ids.find(kEnd); found != this->ids.end()) add(found->second);
  return ids;
}

std::string TokenizerSettings::end_token() const {
  const json named =
      tokenizer_config.is_object() ? tokenizer_config.value("eos_token", json()) : json();
  const json& text = named.is_object() && named.contains("content") ? named["content"] : named;
  return text.is_string() ? text.get<std::string>() : "";
}

std::optional<TokenizerSettings> tokenizer_settings(const fs::path& folder) {
  TokenizerSettings settings{object_in(folder / "tokenizer_config.json"),
                             object_in(folder / kGenerationConfig),
                             {},
                             other_files(folder)};
  // A class of that code, too, is not there without it.
  if (!settings.tokenizer_config.is_null() && settings.tokenizer_config.erase(kNamesCode) > 0)
    settings.tokenizer_config.erase("tokenizer_class");
  ids_of(settings.generation_config, folder / kGenerationConfig);
  if (is_of_huggingface(folder))
    settings.ids = ids_of(object_in(folder / kConfigFile), folder / kConfigFile);
  const bool none = settings.tokenizer_config.is_null() && settings.generation_config.is_null() &&
                    settings.ids.empty() && settings.files.empty();
  return none ? std::nullopt : std::optional(std::move(settings));
}

}  // namespace exprun
