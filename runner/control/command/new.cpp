// exprun new [NAME]
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "control/command/command.h"
#include "control/command/line/arguments.h"
#include "control/command/starter_recipe.h"
#include "control/data/prepared_set.h"
#include "control/data/read/example_lengths.h"
#include "control/data/shards/shard_contents.h"
#include "control/data/sources/folder_patterns.h"
#include "control/data/sources/sources.h"
#include "control/launch/prepared_launch.h"
#include "control/launch/weights/huggingface_model.h"
#include "control/report/schema_text.h"
#include "huggingface/model_config.h"
#include "recipe/paths.h"
#include "recipe/quantities.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"
#include "recipe/toml/write.h"
#include "text/token_shard.h"

namespace exprun {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenShards = "token_shards";

// Whether there are files that a path names.
bool is_there(const Value& path) try {
  find_sources(path, libtorch_folder());
  return true;
} catch (const RecipeError&) {
  return false;
} catch (const Error&) {
  return false;
}

// The text of the run whose export a folder is.
struct ExportedText {
  std::string path;        // empty where nothing says one, or it is read in a way of its own
  bool is_here = false;    // its files are
  bool is_needed = false;  // the tokenizer knows only its characters
};

ExportedText text_of_export(const std::filesystem::path& folder) {
  const auto recipe = exported_recipe(folder);
  if (!recipe) return {};
  const Value* type = recipe->find("dataset.type");
  const Value* path = recipe->find("dataset.path");
  const std::string* files = path ? path->as<std::string>() : nullptr;
  if (!type || !files || toml_text(*type) != "\"text\"") return {};
  const Schema& keys = (*SchemaSet::embedded().find("dataset", "text"))["properties"];
  for (const char* key : {"validation", "format", "template", "fallback_template", "separator"}) {
    const Value* value = recipe->find(std::string("dataset.") + key);
    const bool has_default = keys.contains(key) && keys[key].contains("default");
    if (value && (!has_default || toml_text(*value) != toml_of(keys[key]["default"]))) return {};
  }
  return {*files, is_there(*path), text_at(recipe->root(), "dataset.tokenizer") == "char"};
}

// The path of the data where none is given, empty for what is on every machine.
std::string path_from_export(const std::filesystem::path& folder) {
  const ExportedText text = text_of_export(folder);
  if (text.is_here || (text.path.empty() && !file_exists(folder / kExportedRecipe)))
    return text.path;
  const std::string which =
      "the text of the exported run" + (text.path.empty() ? "" : ", '" + text.path + "',");
  if (text.is_needed)
    log_warning("new: " + which + " is not here; the recipe names it all the same, because the " +
                "tokenizer knows only its characters; name another with --path FILE");
  else
    log_warning("new: " + which + (text.path.empty() ? " is not one plain file" : " is not here") +
                "; the recipe reads LibTorch's C++ headers instead; name a text with --path FILE");
  return text.is_needed ? text.path : "";
}

// Throws RecipeError.
std::vector<Source> sources_at(const Words& path) {
  Array patterns;
  for (const std::string& pattern : path)
    patterns.emplace_back(pattern, SourceSpan(), Origin::default_value);
  return find_sources(Value(std::move(patterns), {}, Origin::default_value), libtorch_folder());
}

// Examples of instructions are whole in a sequence or are cut: so long that nearly all fit, as a
// power of two. They are read as bytes, as the recipe does.
int64_t length_for_examples(const Words& path) {
  constexpr int64_t kShortest = 128, kUsual = 1024, kLongest = 2048;
  std::optional<int64_t> bytes;
  try {
    bytes = usual_example_bytes(sources_at(path));
  } catch (const std::exception&) {  // checking the recipe says why
  }
  if (!bytes) return kUsual;
  int64_t length = kShortest;
  while (length < *bytes && length < kLongest) length *= 2;
  return length;
}

// From the recipe's folder up: the schema that lies there, or that of a source tree.
fs::path find_schema(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path at = fs::absolute(folder, ignored);; at = at.parent_path()) {
    for (const fs::path& file : {at / kComposedSchemaFile, at / "schemas" / kComposedSchemaFile})
      if (fs::exists(file, ignored)) return fs::relative(file, folder);
    if (at == at.root_path()) return {};
  }
}

fs::path recipe_file(const std::string& name) {
  if (is_named_as_another_kind(name))
    throw Error("new: '" + name + "' is not a valid recipe name: a recipe is a TOML file; write " +
                    "exprun new " + shell_quoted(fs::path(name).replace_extension("toml").string()),
                ExitCode::bad_recipe);
  const fs::path file = name.ends_with(".toml") ? name : name + ".toml";
  const std::string written = file.filename().string();  // ".toml" of "recipes/", "..toml" of "."
  if (written == ".toml" || written == "..toml" || written == "...toml")
    throw Error("new: '" + name + "' is not a valid recipe name; give a name such as 'mine'",
                ExitCode::bad_recipe);
  return file;
}

void refuse_existing(const fs::path& file) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(file, ignored)))
    throw Error("new: " + file.string() + " already exists; give another name",
                ExitCode::bad_recipe);
  const fs::path folder = file.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ignored))
    throw Error("new: there is no folder '" + folder.string() + "'", ExitCode::bad_recipe);
}

// Of the files that are there; nothing where one is missing.
std::optional<int64_t> bytes_of(const Words& path) try {
  int64_t bytes = 0;
  for (const Source& source : sources_at(path))
    bytes += static_cast<int64_t>(fs::file_size(source.file));
  return bytes;
} catch (const std::exception&) {  // checking the recipe says why
  return std::nullopt;
}

void refuse_file_as_type(const std::string& type) {
  std::error_code ignored;
  if (SchemaSet::embedded().find("dataset", type) == nullptr && fs::exists(type, ignored))
    throw Error("new: --data takes a kind of data; for the data themselves write --path " +
                    shell_quoted(type),
                ExitCode::bad_recipe);
}

// Of a folder: files in it may be of no use, or told from others by their names.
void say_what_is_taken(const std::string& folder, const StarterRequest& request) {
  const size_t all = files_below(folder, request.data).size();
  const size_t taken = sources_at(request.path).size();
  if (taken < all)
    log_info("new: the recipe reads " + std::to_string(taken) + " of the " + std::to_string(all) +
             " files in '" + folder + "': " + toml_of_patterns(request.path));
  else if (all > 1)
    log_info("new: the recipe reads all " + std::to_string(all) + " files in '" + folder + "'");
}

// All token shards of a folder, whose names need not say that they are for validation.
Words shards_of(const std::string& folder) {
  const Words named = folder_patterns(folder, {kTokenShards, Split::validation});
  return named.empty() ? folder_patterns(folder, {kTokenShards, Split::train}) : named;
}

// "data/val.bin" beside "data/train.bin", as nanoGPT and llm.c name them, or the shards of the
// folder "data/val" beside "data/train"; nothing where there are none.
Words validation_beside(const std::string& path) {
  constexpr std::string_view kTrain = "train";
  const std::string train = path.substr(0, path.find_last_not_of('/') + 1);
  const size_t at = train.rfind(kTrain);
  if (at == train.npos || at < train.rfind('/') + 1) return {};
  for (const char* name : {"val", "validation"}) {
    std::string other = train;
    other.replace(at, kTrain.size(), name);
    if (is_there(Value(other, {}, Origin::default_value))) return {other};
    if (const Words shards = shards_of(other); !shards.empty()) return shards;
  }
  return {};
}

void refuse_text_as_tokens(const std::vector<Source>& sources) {
  for (const Source& source : sources)
    if (!begins_as_shard(source.file) && begins_as_text(source.file))
      throw Error("new: '" + source.file.string() + "' is text, not tokens; write --data text",
                  ExitCode::bad_recipe);
}

// Whether the files are as nanoGPT writes them: tokens, and no header that says so. Throws Error
// for one that is no token shard, and where only some have a header.
bool are_bare_tokens(const std::vector<Source>& sources) {
  const Source *bare = nullptr, *with_header = nullptr;
  for (const Source& source : sources) {
    const bool has_header = begins_as_shard(source.file);
    inspect_shard(source.file, has_header ? ShardFormat::with_header : ShardFormat::raw_uint16);
    (has_header ? with_header : bare) = &source;
  }
  if (bare && with_header)
    throw Error("new: '" + with_header->file.string() + "' has a header and '" +
                    bare->file.string() + "' has none; a recipe reads shards of one format",
                ExitCode::bad_recipe);
  return bare != nullptr;
}

// Of tokens that are numbered without gaps, by so many of each file.
int64_t vocab_size_of_bare(const std::vector<Source>& sources, int64_t looked_at) {
  int64_t largest = 0;
  for (const Source& source : sources) {
    const TokenShard shard = inspect_shard(source.file, ShardFormat::raw_uint16);
    largest = std::max(largest, largest_token(shard, std::min(shard.tokens, looked_at)));
  }
  return largest + 1;
}

// Characters are few. Other tokens are taken for GPT-2's, of which no file need have them all.
bool are_of_characters(const std::vector<Source>& sources) {
  constexpr int64_t kLookedAt = 100'000, kMostCharacters = 512;
  return has_tokens_of_characters(sources.front().file.parent_path()) ||
         vocab_size_of_bare(sources, kLookedAt) <= kMostCharacters;
}

// "shards/*.bin", which matches those for validation too.
void warn_of_validation_among(const Words& path) {
  const std::vector<Source> sources = sources_at(path);
  const auto validates = [](const Source& source) { return is_named_for_validation(source.file); };
  const auto found = std::ranges::find_if(sources, validates);
  if (found == sources.end() || std::ranges::all_of(sources, validates)) return;
  const std::string folder = found->file.parent_path().string();
  log_warning("new: the recipe trains on all files that " + toml_of_patterns(path) +
              " matches, also on '" + found->file.string() +
              "', and has no validation; to use files with \"val\" in their names for it, write "
              "--path " +
              shell_quoted(folder.empty() ? "." : folder));
}

// Of a file or a glob: whether all that it names are tokens.
bool names_token_shards(const std::string& path) try {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return false;
  const std::vector<Source> sources = sources_at({path});
  return !sources.empty() && std::ranges::all_of(sources, [](const Source& source) {
    const fs::path& file = source.file;
    return file.extension() == ".bin" &&
           (begins_as_shard(file) || has_bare_tokens(file.parent_path()));
  });
} catch (const std::runtime_error&) {  // Error, RecipeError: told when the recipe is judged
  return false;
}

// The kind of data at a path where nobody says it.
std::string kind_of_data(const std::string& path) {
  if (path.empty()) return "text";
  if (names_token_shards(path)) return kTokenShards;
  if (!described_set(path) && !has_token_shards(path) && !has_bare_tokens(path)) return "text";
  if (has_tokens_of_characters(path) && has_text_of_tokens(path)) {
    log_info("new: the recipe takes the text in '" + path +
             "'; for the tokens of its characters, write --data token_shards");
    return "text";
  }
  if (has_bare_tokens(path) && !folder_patterns(path, {}).empty())
    log_info("new: the recipe takes the tokens in '" + path +
             "'; for the text beside them, write --data text");
  return kTokenShards;
}

// A folder is no source: the files in it are.
void name_data(const std::string& path, StarterRequest& request) {
  if (path.empty()) return;
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  if (request.data == kTokenShards)
    request.prepared = described_set(is_folder ? fs::path(path) : fs::path(path).parent_path());
  if (is_folder) request.path = folder_patterns(path, {request.data, Split::train});
  if (request.data == kTokenShards && !request.path.empty())
    request.validation = folder_patterns(path, {request.data, Split::validation});
  if (is_made_of_text(request.data) && !request.path.empty()) say_what_is_taken(path, request);
  if (request.path.empty()) request.path = {path};
  request.bytes = bytes_of(request.path);
  if (request.data != kTokenShards || !request.bytes) return;
  if (request.validation.empty()) request.validation = validation_beside(path);
  if (request.validation.empty()) warn_of_validation_among(request.path);
  std::vector<Source> sources = sources_at(request.path);
  refuse_text_as_tokens(sources);
  if (!request.validation.empty())
    for (Source& source : sources_at(request.validation)) sources.push_back(std::move(source));
  request.are_bare_tokens = are_bare_tokens(sources);
  if (request.are_bare_tokens && are_of_characters(sources))
    request.vocab_size = vocab_size_of_bare(sources, std::numeric_limits<int64_t>::max());
}

// Says what keeps the recipe from running as it is, such as data of another kind; returns whether
// anything does.
bool warns_of_mistake(const fs::path& file, const StoreFolder& folder) {
  const RecipeText text = read_recipe(file, {});
  DatasetGlances glances(folder.data());
  const DataGlance glance = glance_at_files(try_resolve(text), folder, glances);
  Diagnostics problems = try_resolve(text, glance.dataset_info).diagnostics;
  problems.insert(problems.end(), glance.problems.begin(), glance.problems.end());
  for (const Diagnostic& problem : problems)
    if (problem.severity == Severity::error) {
      log_warning("new: the recipe cannot run yet: " + problem.message +
                  (problem.help.empty() ? "" : "; " + problem.help));
      return true;
    }
  return false;
}

Offer types_of(const char* kind) {
  return [kind](const Typed&) { return SchemaSet::embedded().types(kind); };
}

}  // namespace

int run_new(const Words& words, const Globals& globals) {
  std::string name = "experiment";
  std::string path;
  StarterRequest request{"gpt", "", {}, {}, "", {}, {}, {}, {}, "", false};
  Arguments arguments("new [NAME]",
                      "Writes a starter recipe that you can run as is, with its keys explained.");
  arguments.optional_word("NAME", name, "the file, with or without .toml (default: experiment)")
      .option("--model", "TYPE", request.model, "the model (default: gpt); see exprun schema model",
              types_of("model"))
      .option("--data", "TYPE", request.data,
              "the kind of data (default: text, or token_shards for files or a folder of them); "
              "see exprun schema dataset",
              types_of("dataset"))
      .option(
          "--from", "DIR", request.from,
          "a HuggingFace folder (config.json, model.safetensors): take its model, tokenizer and "
          "weights",
          offer::folders)
      .option(
          "--path", "FILES", path,
          "the data: a path, a glob, or a folder of files (default: LibTorch's C++ headers; with "
          "--from and a folder that exprun exported, the text of the exported run if it still "
          "exists)",
          offer::files)
      .note(
          "The first line names the recipe's schema, for editors. If no schema is in this folder "
          "or above it, the command also writes recipe.schema.json.")
      .exit_codes({ExitCode::done, ExitCode::failed, ExitCode::bad_recipe})
      .example("exprun new mine", "mine.toml, a byte-level GPT on text")
      .example("exprun new notes --path 'notes/*.md'", "the same with your own text")
      .example("exprun new tuned --from models/gpt2 --path 'notes/*.md'",
               "continue training existing weights");
  if (!arguments.parse(words)) return 0;
  if (const std::string own = advice_on_own_tensors(request.from);
      !request.from.empty() && !is_huggingface_folder(request.from))
    throw Error(
        "new: '" + request.from + "' is not a HuggingFace folder, which has a config.json" +
            (own.empty() ? "; exprun data fetch gets one, and exprun export RUN --huggingface DIR "
                           "writes one"
                         : own),
        ExitCode::bad_recipe);
  if (!request.from.empty() && request.model != "gpt")
    throw Error("new: --from needs the model gpt; remove --model", ExitCode::bad_recipe);
  if (std::error_code ignored; !name.ends_with(".toml") && fs::is_regular_file(name, ignored))
    throw Error("new: '" + name +
                    "' is a file already; for a recipe that reads it write exprun new " +
                    shell_quoted(fs::path(name).stem().string()) + " --path " + shell_quoted(name),
                ExitCode::bad_recipe);
  const fs::path file = recipe_file(name);
  refuse_existing(file);
  if (!request.data.empty()) refuse_file_as_type(request.data);
  const fs::path folder = file.parent_path().empty() ? "." : file.parent_path();
  const fs::path known = find_schema(folder);
  request.schema = known.empty() ? std::string("./") + kComposedSchemaFile : known.string();
  if (request.data.empty()) request.data = kind_of_data(path);
  const bool is_given = !path.empty();
  if (!is_given && request.data == "text" && !request.from.empty())
    path = path_from_export(request.from);
  name_data(path, request);
  if (is_given && !request.bytes)
    log_warning("new: " + (folder_exists(path)
                               ? "the recipe can read no file in '" + path +
                                     "': " + how_to_name_files_in(path, {request.data})
                               : "no file matches '" + path + "'; the recipe needs it to run"));
  if (request.data == "instruction" && request.from.empty())
    request.context_length = length_for_examples(request.path);
  const std::string text = starter_recipe(SchemaSet::embedded(), request);
  if (known.empty()) write_file_atomically(folder / kComposedSchemaFile, composed_schema());
  write_file_atomically(file, text);
  const std::string typed = shell_quoted(file.string());
  const bool can_run = !is_given || (request.bytes && !warns_of_mistake(file, globals.store));
  log_info("wrote " + file.string() + "; exprun check " + typed + " shows its " +
           (can_run ? "plan, exprun " + typed + " runs it" : "mistakes"));
  return 0;
}

}  // namespace exprun
