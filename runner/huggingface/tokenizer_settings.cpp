#include "huggingface/tokenizer_settings.h"

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/utf8.h"
#include "huggingface/model_config.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kNamesCode = "auto_map";

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored);
}

json object_in(const fs::path& file) {
  return is_there(file) ? read_config(file) : json();
}

std::map<std::string, std::string> other_files(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const char* name : {"special_tokens_map.json", "added_tokens.json", "chat_template.jinja"}) {
    const fs::path file = folder / name;
    if (!is_there(file)) continue;
    if (file.extension() == ".json") read_config(file);
    files[name] = read_file(file);
    if (first_invalid_byte(files[name]))
      throw Error("huggingface: '" + file.string() + "' is damaged: it is not UTF-8");
  }
  return files;
}

}  // namespace

std::optional<TokenizerSettings> tokenizer_settings(const fs::path& folder) {
  TokenizerSettings settings{object_in(folder / "tokenizer_config.json"),
                             object_in(folder / "generation_config.json"),
                             {},
                             other_files(folder)};
  if (!settings.tokenizer_config.is_null()) settings.tokenizer_config.erase(kNamesCode);
  const json config = object_in(folder / kConfigFile);
  for (const char* id : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (config.contains(id)) settings.ids[id] = config[id];
  const bool none = settings.tokenizer_config.is_null() && settings.generation_config.is_null() &&
                    settings.ids.empty() && settings.files.empty();
  return none ? std::nullopt : std::optional(std::move(settings));
}

}  // namespace exprun
