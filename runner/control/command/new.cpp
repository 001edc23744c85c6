// exprun new [NAME]
#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "base/shell_quoted.h"
#include "control/command/arguments.h"
#include "control/command/command.h"
#include "control/command/starter.h"
#include "control/data/sources.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchemaFile = "recipe.schema.json";

// From the recipe's folder up: the schema that lies there, or that of a source tree.
fs::path find_schema(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path at = fs::absolute(folder, ignored);; at = at.parent_path()) {
    for (const fs::path& file : {at / kSchemaFile, at / "schemas" / kSchemaFile})
      if (fs::exists(file, ignored)) return fs::relative(file, folder);
    if (at == at.root_path()) return {};
  }
}

fs::path recipe_file(const std::string& name) {
  const fs::path file = name.ends_with(".toml") ? name : name + ".toml";
  const std::string written = file.filename().string();  // ".toml" of "recipes/", "..toml" of "."
  if (written == ".toml" || written == "..toml" || written == "...toml")
    throw Error("new: '" + name + "' is no name of a recipe; give one such as mine",
                ExitCode::bad_recipe);
  return file;
}

void refuse_existing(const fs::path& file) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(file, ignored)))
    throw Error("new: " + file.string() + " is there already; give another name",
                ExitCode::bad_recipe);
  const fs::path folder = file.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ignored))
    throw Error("new: there is no folder " + folder.string(), ExitCode::bad_recipe);
}

// Of the files that a path or glob names, as far as they are there.
std::optional<int64_t> bytes_of(const std::string& path) try {
  int64_t bytes = 0;
  for (const Source& source : find_sources(Value(path, {}, Origin::default_value), ""))
    bytes += static_cast<int64_t>(fs::file_size(source.file));
  return bytes;
} catch (const std::exception&) {  // checking the recipe says why
  return std::nullopt;
}

Offer types_of(const char* kind) {
  return [kind](const Typed&) { return SchemaSet::embedded().types(kind); };
}

}  // namespace

int run_new(const Words& words, const Globals&) {
  std::string name = "experiment";
  StarterRequest request{"gpt", "text", "", {}, ""};
  Arguments arguments("new [NAME]",
                      "Writes a first recipe, with every key explained, that can be run as it is.");
  arguments.optional_word("NAME", name, "of the file, with or without .toml (default: experiment)")
      .option("--model", "TYPE", request.model,
              "which model (default: gpt); see exprun schema model", types_of("model"))
      .option("--data", "TYPE", request.data,
              "which kind of data (default: text); see exprun schema dataset", types_of("dataset"))
      .option("--path", "FILES", request.path,
              "where the data are: a path or a glob (default: C++ headers of LibTorch)",
              offer::files)
      .note(
          "For editors, the first line names the recipe's schema. Where none lies in this folder "
          "or above it, recipe.schema.json is written beside the recipe.")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun new mine", "mine.toml, a byte-level GPT on text")
      .example("exprun new notes --path 'notes/*.md'", "the same on text of your own");
  if (!arguments.parse(words)) return 0;
  const fs::path file = recipe_file(name);
  refuse_existing(file);
  const fs::path folder = file.parent_path().empty() ? "." : file.parent_path();
  const fs::path known = find_schema(folder);
  request.schema = known.empty() ? std::string("./") + kSchemaFile : known.string();
  if (!request.path.empty()) request.bytes = bytes_of(request.path);
  const std::string text = starter_recipe(SchemaSet::embedded(), request);
  if (known.empty()) write_file_atomically(folder / kSchemaFile, composed_schema());
  write_file_atomically(file, text);
  const std::string typed = shell_quoted(file.string());
  log_info("wrote " + file.string() + "; exprun check " + typed +
           " says what it would do, exprun " + typed + " runs it");
  return 0;
}

}  // namespace exprun
