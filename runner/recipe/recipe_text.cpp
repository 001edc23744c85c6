#include "recipe/recipe_text.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "base/suggest.h"
#include "recipe/schema/number_advice.h"
#include "recipe/toml/parse.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepestExtends = 3;

// Larger is no recipe, and parsing it would take long.
constexpr size_t kLargestFile = 1 << 20;  // bytes

// What tells files apart, by whatever path they are reached.
using FileIdentity = std::pair<dev_t, ino_t>;

struct Reading {
  RecipeText text;
  std::vector<FileIdentity> read;         // to find a cycle
  std::vector<SourceSpan> extended_from;  // nearest first
};

// Without "a/.." where that names the same file: behind a symbolic link it does not.
std::string shown(const fs::path& file) {
  std::error_code error;
  const fs::path plain = file.lexically_normal();
  const bool none = !fs::exists(file, error) && !fs::exists(plain, error);
  return (none || fs::equivalent(plain, file, error) ? plain : file).string();
}

[[noreturn]] void fail(const Reading& reading, const std::string& name, std::string message,
                       std::string help) {
  Diagnostic diagnostic;
  diagnostic.message = std::move(message);
  diagnostic.help = std::move(help);
  if (reading.extended_from.empty()) {
    diagnostic.where.file = std::make_shared<SourceFile>(SourceFile{name, ""});
  } else {
    diagnostic.where = reading.extended_from.front();
    diagnostic.also.assign(reading.extended_from.begin() + 1, reading.extended_from.end());
  }
  throw RecipeError(Diagnostics{diagnostic});
}

std::optional<FileIdentity> identity_of(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

bool has_read(const Reading& reading, const FileIdentity& file) {
  return std::find(reading.read.begin(), reading.read.end(), file) != reading.read.end();
}

// The one of this name in a folder of recipes, or the recipe beside a misspelt one; not one that
// would extend itself.
std::string suggest_file(const Reading& reading, const fs::path& file) {
  const fs::path folder = file.parent_path(), below = folder / "recipes" / file.filename();
  if (reading.extended_from.empty() && file_exists(below))
    return "did you mean '" + shown(below) + "'?";
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, error))
    if (const auto identity = identity_of(entry.path());
        identity && entry.path().extension() == ".toml" && !has_read(reading, *identity))
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  const auto near = nearest(file.stem().string(), names);
  return near ? "did you mean '" + shown(folder / (*near + ".toml")) + "'?" : "";
}

// Of a file that cannot be read as a recipe: one whose name says that it is something else.
void refuse_other_file(const Reading& reading, const fs::path& file) {
  if (reading.extended_from.empty() && is_named_as_another_kind(file))
    fail(reading, shown(file), "this is not a recipe: a recipe is a TOML file",
         "to train on text, run `exprun new NAME --path FILE` and then that recipe");
}

std::string read_text(const Reading& reading, const fs::path& file) {
  const std::string name = shown(file);
  const std::string subject = reading.extended_from.empty() ? "this" : "'" + name + "'";
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found)
    fail(reading, name, reading.extended_from.empty() ? "no such file" : "no such file: " + subject,
         suggest_file(reading, file));
  if (status.type() == fs::file_type::directory)
    fail(reading, name, subject + " is a folder, not a recipe", "name a .toml file in it");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  for (std::array<char, 1 << 14> part; stream && text.size() <= kLargestFile;) {
    stream.read(part.data(), part.size());
    text.append(part.data(), static_cast<size_t>(stream.gcount()));
  }
  if (!stream.is_open() || stream.bad())
    fail(reading, name, subject + " cannot be read: " + std::strerror(errno != 0 ? errno : EIO),
         "");
  if (text.size() > kLargestFile) refuse_other_file(reading, file);
  if (text.size() > kLargestFile)
    fail(reading, name, subject + " is larger than 1 MiB, too large for a recipe",
         "is this the right file?");
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

void refuse_cycle(Reading& reading, const fs::path& file) {
  const std::optional<FileIdentity> identity = identity_of(file);
  if (!identity) return;  // reading it says why
  if (has_read(reading, *identity))
    fail(reading, shown(file), "'" + shown(file) + "' extends itself",
         "remove one `extends` from the chain");
  reading.read.push_back(*identity);
}

void refuse_too_deep(const Reading& reading) {
  if (reading.extended_from.size() <= kDeepestExtends) return;
  fail(reading, "", "more than " + std::to_string(kDeepestExtends) + " parents in a chain",
       "merge some of them");
}

// Reads one file and says which parent it names; empty if none.
fs::path read_one(Reading& reading, const fs::path& file) {
  refuse_cycle(reading, file);
  refuse_too_deep(reading);
  reading.text.files.push_back(
      std::make_shared<SourceFile>(SourceFile{shown(file), read_text(reading, file)}));
  Diagnostics diagnostics;
  const std::optional<LoadedFile> loaded = load_file(reading.text.files.back(), diagnostics);
  for (Diagnostic& diagnostic : diagnostics) diagnostic.also = reading.extended_from;
  if (!loaded) refuse_other_file(reading, file);
  if (!loaded) throw RecipeError(diagnostics);
  if (loaded->extends.empty()) return {};
  reading.extended_from.insert(reading.extended_from.begin(), loaded->extends_where);
  return file.parent_path() / loaded->extends;
}

void take_version(Table& root, Diagnostics& diagnostics) {
  const Value* version = root.find("version");
  if (version == nullptr) return;
  const auto* number = version->as<int64_t>();
  const std::string ours = std::to_string(kRecipeVersion);
  if (number == nullptr)
    diagnostics.push_back({version->where,
                           std::string("'version' must be an integer, got ") + type_name(*version),
                           "this version of exprun reads version = " + ours});
  else if (*number != kRecipeVersion)
    diagnostics.push_back(
        {version->where,
         "this version of exprun reads recipes of version " + ours + ", not " +
             std::to_string(*number),
         *number > kRecipeVersion ? "use a newer version of exprun" : "write version = " + ours});
  root.erase("version");
}

// False if it is no path.
bool take_extends(LoadedFile& loaded, Diagnostics& diagnostics) {
  const Value* extends = loaded.root.find("extends");
  if (extends == nullptr) return true;
  const auto* name = extends->as<std::string>();
  if (name == nullptr || name->empty()) {
    diagnostics.push_back({extends->where, "'extends' must be the path of one recipe",
                           "as in extends = \"base/parent.toml\""});
    return false;
  }
  loaded.extends = *name;
  loaded.extends_where = extends->where;
  loaded.root.erase("extends");
  return true;
}

std::shared_ptr<const SourceFile> numbered_file(
    const std::string& words, size_t number, const std::string& text,
    SourceFile::Kind kind = SourceFile::Kind::other_override) {
  return std::make_shared<SourceFile>(
      SourceFile{"<" + words + " " + std::to_string(number) + ">", text, kind});
}

}  // namespace

std::shared_ptr<const SourceFile> override_file(size_t number, const std::string& text) {
  return numbered_file("override", number, text, SourceFile::Kind::typed_override);
}

void RecipeText::type(const std::vector<std::string>& words) {
  const auto after = static_cast<std::ptrdiff_t>(stored + implied + typed);
  overrides.insert(overrides.begin() + after, words.begin(), words.end());
  typed += words.size();
}

void RecipeText::imply(const std::string& change) {
  overrides.insert(overrides.begin() + static_cast<std::ptrdiff_t>(stored + implied), change);
  ++implied;
}

void RecipeText::find_out(const std::string& change) {
  overrides.push_back(change);
  ++found_out;
}

void RecipeText::erase_override(size_t index) {
  if (index < stored)
    --stored;
  else if (index < stored + implied)
    --implied;
  else if (index >= first_found_out())
    --found_out;
  else if (is_typed(index))
    --typed;
  overrides.erase(overrides.begin() + static_cast<std::ptrdiff_t>(index));
}

void RecipeText::mark_as_stored() {
  stored = overrides.size();
  implied = found_out = typed = 0;
}

RecipeText RecipeText::without_overrides() const {
  RecipeText text;
  text.files = files;
  return text;
}

bool RecipeText::is_typed(size_t index) const {
  return index >= stored + implied && index < stored + implied + typed;
}

size_t RecipeText::first_found_out() const {
  return overrides.size() - found_out;
}

std::shared_ptr<const SourceFile> RecipeText::override_source(size_t index) const {
  const std::string& text = overrides[index];
  if (index < stored) return numbered_file("stored override", index + 1, text);
  if (index < stored + implied) return numbered_file("implied override", index - stored + 1, text);
  const size_t found = first_found_out();
  if (index >= found) return numbered_file("automatic override", index - found + 1, text);
  return override_file(index - stored - implied + 1, text);
}

std::vector<std::shared_ptr<const SourceFile>> RecipeText::sources() const {
  std::vector<std::shared_ptr<const SourceFile>> sources = files;
  for (size_t i = 0; i < overrides.size(); ++i) sources.push_back(override_source(i));
  return sources;
}

bool is_named_as_another_kind(const fs::path& file) {
  constexpr std::array kOthers = {".md",  ".txt",      ".json",        ".jsonl", ".yaml",
                                  ".yml", ".csv",      ".py",          ".bin",   ".parquet",
                                  ".bpe", ".tiktoken", ".safetensors", ".pkl"};
  return std::find(kOthers.begin(), kOthers.end(), file.extension()) != kOthers.end();
}

std::string RecipeText::to_json() const {
  nlohmann::ordered_json json;
  json["files"] = nlohmann::ordered_json::array();
  for (const auto& file : files)
    json["files"].push_back({{"name", file->name}, {"text", file->text}});
  json["overrides"] = overrides;
  if (stored > 0) json["stored"] = stored;
  if (implied > 0) json["implied"] = implied;
  if (found_out > 0) json["found_out"] = found_out;
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
    recipe.stored = json.value("stored", size_t{0});
    recipe.implied = json.value("implied", size_t{0});
    recipe.found_out = json.value("found_out", size_t{0});
    if (recipe.files.empty())
      throw Error("recipe: the stored recipe is damaged: it contains no recipe file");
    return recipe;
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("recipe: the stored recipe is damaged: ") + json_problem(error));
  }
}

std::optional<LoadedFile> load_file(const std::shared_ptr<const SourceFile>& file,
                                    Diagnostics& diagnostics) {
  std::optional<Table> root = parse_toml(
      file, Origin::file, diagnostics,
      [&](size_t begin, size_t size) { return unwritable_number_at(file, begin, size); });
  if (!root) return std::nullopt;
  LoadedFile loaded{std::move(*root), {}, ""};
  take_version(loaded.root, diagnostics);
  if (!take_extends(loaded, diagnostics)) return std::nullopt;
  return loaded;
}

RecipeText read_recipe(const fs::path& file, const std::vector<std::string>& overrides) {
  if (file.empty())
    throw Error("command line: the name of the recipe is empty", ExitCode::bad_recipe);
  Reading reading;
  reading.text.type(overrides);
  for (fs::path next = file; !next.empty();) next = read_one(reading, next);
  return std::move(reading.text);
}

}  // namespace exprun
