#include "recipe/load.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/suggest.h"
#include "recipe/toml_source.h"

namespace exprun {

namespace fs = std::filesystem;

namespace {

struct Reading {
  RecipeText text;
  std::vector<fs::path> paths;            // of text.files, to find a cycle
  std::vector<SourceSpan> extended_from;  // nearest first
};

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

// The recipe beside a misspelt one.
std::string suggest_file(const fs::path& file) {
  const fs::path folder = file.parent_path();
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, error))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  const auto near = nearest(file.stem().string(), names);
  return near ? "did you mean '" + (folder / (*near + ".toml")).string() + "'?" : "";
}

std::string read_text(const Reading& reading, const fs::path& file) {
  const std::string name = file.string();
  const std::string subject = reading.extended_from.empty() ? "this" : "'" + name + "'";
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found)
    fail(reading, name, reading.extended_from.empty() ? "no such file" : "no such file: " + subject,
         suggest_file(file));
  if (status.type() == fs::file_type::directory)
    fail(reading, name, subject + " is a folder, not a recipe", "name a .toml file in it");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (!stream.is_open() || stream.bad())
    fail(reading, name, subject + " cannot be read: " + std::strerror(errno != 0 ? errno : EIO),
         "");
  return text;
}

void refuse_cycle(const Reading& reading, const fs::path& file) {
  for (const fs::path& earlier : reading.paths)
    if (earlier == fs::weakly_canonical(file))
      fail(reading, file.string(), "'" + file.lexically_normal().string() + "' extends itself",
           "take one `extends` of the chain away");
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
      std::make_shared<SourceFile>(SourceFile{file.string(), read_text(reading, file)}));
  reading.paths.push_back(fs::weakly_canonical(file));
  Diagnostics diagnostics;
  const std::optional<LoadedFile> loaded = load_file(reading.text.files.back(), diagnostics);
  for (Diagnostic& diagnostic : diagnostics) diagnostic.also = reading.extended_from;
  if (!loaded) throw RecipeError(diagnostics);
  if (loaded->extends.empty()) return {};
  reading.extended_from.insert(reading.extended_from.begin(), loaded->extends_where);
  return (file.parent_path() / loaded->extends).lexically_normal();
}

void take_version(Table& root, Diagnostics& diagnostics) {
  const Value* version = root.find("version");
  if (version == nullptr) return;
  const auto* number = version->as<int64_t>();
  const std::string ours = std::to_string(kRecipeVersion);
  if (number == nullptr)
    diagnostics.push_back({version->where,
                           std::string("'version' must be an integer, got ") + type_name(*version),
                           "this exprun reads version = " + ours});
  else if (*number != kRecipeVersion)
    diagnostics.push_back(
        {version->where,
         "this exprun reads recipes of version " + ours + ", not " + std::to_string(*number),
         *number > kRecipeVersion ? "a newer exprun is needed" : "write version = " + ours});
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

}  // namespace

std::optional<LoadedFile> load_file(const std::shared_ptr<const SourceFile>& file,
                                    Diagnostics& diagnostics) {
  std::optional<Table> root = parse_toml(file, Origin::file, diagnostics);
  if (!root) return std::nullopt;
  LoadedFile loaded{std::move(*root), {}, ""};
  take_version(loaded.root, diagnostics);
  if (!take_extends(loaded, diagnostics)) return std::nullopt;
  return loaded;
}

RecipeText read_recipe(const fs::path& file, std::vector<std::string> overrides) {
  Reading reading;
  reading.text.overrides = std::move(overrides);
  for (fs::path next = file; !next.empty();) next = read_one(reading, next);
  return std::move(reading.text);
}

}  // namespace exprun
