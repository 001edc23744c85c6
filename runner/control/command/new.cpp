#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/files/file.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "control/command/command.h"
#include "control/command/line/arguments.h"
#include "control/data/prepared_set.h"
#include "control/data/read/example_lengths.h"
#include "control/data/sources.h"
#include "control/launch/weights/huggingface_model.h"
#include "control/report/schema_text.h"
#include "recipe/paths.h"
#include "recipe/quantities.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"
#include "recipe/schema/schema.h"
#include "recipe/schema/table_schema.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

// A starter recipe for a model and a dataset, with every key that it could have: those that are
// needed with a value, the others as comments with their default.
struct StarterRequest {
  std::string model, data;  // types
  Words path;               // of the data: patterns; empty takes what is on every machine
  Words validation;         // the same of token shards
  std::string from;         // a folder of HuggingFace's whose weights it begins with; or empty
  std::optional<PreparedData> prepared;   // what `exprun data prepare --out` made, at the path
  std::optional<int64_t> bytes;           // of the data, if they are there
  std::optional<int64_t> context_length;  // that the data ask for; else the model's example
  std::string schema;  // path of recipe.schema.json from the recipe; empty leaves it out
};

constexpr const char* kTokenShards = "token_shards";
constexpr const char* kExportedRecipe = "recipe.toml";
constexpr const char* kTextEverywhere = "${libtorch}/include/ATen/**/*.h";
constexpr size_t kCommentColumn = 36;
constexpr int64_t kGpt2Vocabulary = 50257;
constexpr const char* kFineTuningRate = "2e-5";  // less than a model starts with: it knows much

using Given = std::map<std::string, std::string>;  // key to its value as TOML

const Schema& type_schema(const SchemaSet& schemas, const std::string& kind,
                          const std::string& type) {
  if (const Schema* schema = schemas.find(kind, type)) return *schema;
  const std::vector<std::string> types = schemas.types(kind);
  const auto near = nearest(type, types);
  throw Error("new: there is no " + kind + " type '" + type + "'; choose " + alternatives(types) +
                  (near ? "; did you mean " + *near + "?" : ""),
              ExitCode::bad_recipe);
}

std::string line(const std::string& assignment, const std::string& comment) {
  const size_t gap = assignment.size() < kCommentColumn ? kCommentColumn - assignment.size() : 2;
  return assignment + std::string(gap, ' ') + "# " + comment + '\n';
}

// The last example is the one to begin with; the first is the smallest.
std::string first_value(const Schema& schema) {
  if (schema.contains("examples")) return toml_of(schema["examples"].back());
  return schema.contains("default") ? toml_of(schema["default"]) : "\"\"";
}

std::string key_line(const std::string& key, const Schema& schema, bool required,
                     const Given& given) {
  const std::string comment = schema.value("description", "");
  if (const auto value = given.find(key); value != given.end())
    return line(key + " = " + value->second, comment);
  if (required) return line(key + " = " + first_value(schema), comment);
  // What has no default is not there unless it is written.
  return schema.contains("default") ? line("# " + key + " = " + toml_of(schema["default"]), comment)
                                    : "";
}

std::string keys(const Schema& node, const Given& given) {
  std::string text;
  if (const auto properties = node.find("properties"); properties != node.end())
    for (const auto& [key, schema] : properties->items())
      if (key != "type" && (schema.value("type", Schema()) != "object" || given.count(key) > 0))
        text += key_line(key, schema, requires_key(node, key), given);
  return text;
}

std::string table(const SchemaSet& schemas, const std::string& name, const Given& given) {
  const Schema& node = *schemas.find(name);
  return "\n[" + name + "]  # " + node.value("description", "") + '\n' + keys(node, given);
}

std::string component(const SchemaSet& schemas, const std::string& kind, const std::string& type,
                      const Given& given) {
  const Schema& chosen = type_schema(schemas, kind, type);
  const std::vector<std::string> types = schemas.types(kind);
  const std::string choice = types.size() > 1 ? " (of " + alternatives(types) + ")" : "";
  return "\n[" + kind + "]\n" +
         line("type = \"" + type + "\"", chosen.value("description", "") + choice) +
         keys(chosen, given) + keys(*schemas.find(kind), given);
}

// The key that says where the data are.
std::string path_key(const Schema& dataset) {
  for (const auto& [key, schema] : dataset["properties"].items())
    if (schema.contains("x-path") && requires_key(dataset, key)) return key;
  return "";
}

// Whether there are files that it names.
bool is_there(const Value& path) try {
  find_sources(path, libtorch_folder());
  return true;
} catch (const RecipeError&) {
  return false;
}

Given tokenizer_given(const std::filesystem::path& folder) {
  if (const auto tokenizer = tokenizer_of(folder))
    return {{"tokenizer", *tokenizer == folder ? "\"gpt2\"" : "\"huggingface\""},
            {"vocabulary", toml_quoted(tokenizer->string())}};
  log_warning(
      "new: " + folder.string() +
      " has no tokenizer.json: the recipe uses a byte tokenizer, for which the weights were "
      "not trained");
  return {};
}

// The text of the run whose export a folder is.
struct ExportedText {
  std::string path;        // empty where nothing says one, or it is read in a way of its own
  bool is_here = false;    // its files are
  bool is_needed = false;  // the tokenizer knows only its characters
};

ExportedText text_of_export(const std::filesystem::path& folder) try {
  const ResolvedRecipe recipe =
      try_resolve(read_recipe((folder / kExportedRecipe).string(), {})).recipe;
  const Value* type = recipe.find("dataset.type");
  const Value* path = recipe.find("dataset.path");
  const std::string* files = path ? path->as<std::string>() : nullptr;
  if (!type || !files || toml_text(*type) != "\"text\"") return {};
  const Schema& keys = type_schema(SchemaSet::embedded(), "dataset", "text")["properties"];
  for (const char* key : {"validation", "format", "template", "fallback_template", "separator"}) {
    const Value* value = recipe.find(std::string("dataset.") + key);
    const bool has_default = keys.contains(key) && keys[key].contains("default");
    if (value && (!has_default || toml_text(*value) != toml_of(keys[key]["default"]))) return {};
  }
  return {*files, is_there(*path), text_at(recipe.root(), "dataset.tokenizer") == "char"};
} catch (const Error&) {
  return {};
} catch (const RecipeError&) {
  return {};
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

Given data_given(const SchemaSet& schemas, const StarterRequest& request) {
  const std::string key = path_key(type_schema(schemas, "dataset", request.data));
  if (key.empty()) return {};
  if (request.path.empty() && request.data != "text")
    throw Error("new: the path of the data is missing; give it with --path FILES",
                ExitCode::bad_recipe);
  Given given = {
      {key, toml_of_patterns(request.path.empty() ? Words{kTextEverywhere} : request.path)}};
  if (!request.validation.empty())
    given.emplace("validation", toml_of_patterns(request.validation));
  if (request.prepared) given.emplace("tokenizer", "\"prepared\"");
  if (request.from.empty() || request.prepared) return given;
  given.merge(tokenizer_given(request.from));
  return given;
}

// Whether the data have a tokenizer by themselves: other projects' shards do not say what made
// them.
bool has_tokenizer(const SchemaSet& schemas, const StarterRequest& request) {
  if (request.prepared) return true;
  const Schema& keys = type_schema(schemas, "dataset", request.data)["properties"];
  return keys.contains("tokenizer") && keys["tokenizer"].value("default", "none") != "none";
}

// Nor do they say how many different ones there are.
Given model_given(const SchemaSet& schemas, const StarterRequest& request) {
  if (!request.from.empty()) return model_keys_of(request.from);
  const Schema& keys = type_schema(schemas, "model", request.model)["properties"];
  Given given;
  if (request.context_length && keys.contains("context_length"))
    given.emplace("context_length", std::to_string(*request.context_length));
  if (!has_tokenizer(schemas, request) && keys.contains("vocab_size"))
    given.emplace("vocab_size", std::to_string(kGpt2Vocabulary));
  return given;
}

// Throws RecipeError.
std::vector<Source> sources_at(const Words& path) {
  Array patterns;
  for (const std::string& pattern : path)
    patterns.emplace_back(pattern, SourceSpan(), Origin::default_value);
  return find_sources(Value(std::move(patterns), {}, Origin::default_value), libtorch_folder());
}

constexpr int64_t kSteps = 200, kSequences = 16, kEvaluations = 11;  // one is before the first step

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

// Fewer of long ones, so that a step takes about as long.
int64_t sequences_of(const StarterRequest& request) {
  constexpr int64_t kShort = 128, kFewest = 4;
  const int64_t length = request.context_length.value_or(kShort);
  return std::max(kFewest, kSequences * kShort / std::max(kShort, length));
}

// So many tokens that the evaluations take little of the run; nothing where all of the validation
// data are no more, or are not known to be text.
Given evaluation_given(const SchemaSet& schemas, const StarterRequest& request) {
  const Schema& model = type_schema(schemas, "model", request.model)["properties"];
  if (!model.contains("context_length")) return {};
  const int64_t length =
      request.context_length.value_or(model["context_length"]["examples"].back().get<int64_t>());
  const int64_t tokens = modest_evaluation(kSteps * sequences_of(request) * length, kEvaluations);
  if (request.prepared)
    return facts_of(*request.prepared).validation_tokens.value_or(0) > tokens
               ? Given{{"tokens", std::to_string(tokens)}}
               : Given{};
  const Schema& dataset = type_schema(schemas, "dataset", request.data)["properties"];
  const auto fraction = dataset["validation_fraction"]["default"].get<double>();
  // A token has some bytes, and a packed file more text than bytes.
  const bool fits = !request.bytes || static_cast<double>(*request.bytes) * fraction / 8 >
                                          static_cast<double>(tokens);
  return fits ? Given{{"tokens", std::to_string(tokens)}} : Given{};
}

std::string evaluation(const SchemaSet& schemas, const std::string& type, const Given& given) {
  const Schema& node = *schemas.find("evaluation", type);
  return "\n[evaluation." + type + "]  # " + node.value("description", "") + '\n' +
         keys(node, given);
}

// A model may see more tokens than a first run can afford.
std::string modest_length(const Given& model) {
  constexpr int64_t kModest = 1024;
  return std::to_string(
      std::min(kModest, parse_number<int64_t>(model.at("context_length")).value()));
}

// Throws Error (wrong usage) for a type that there is not, and for data that need a path.
std::string starter_recipe(const SchemaSet& schemas, const StarterRequest& request) {
  std::string text = request.schema.empty() ? "" : "#:schema " + request.schema + '\n';
  text +=
      "# A starter recipe. Commented-out keys have the value shown; remove the '#' to "
      "change one.\n";
  text += table(schemas, "run", {{"steps", std::to_string(kSteps)}});
  const Given model = model_given(schemas, request);
  text += component(schemas, "model", request.model, model);
  text += component(schemas, "dataset", request.data, data_given(schemas, request));
  Given batch = {{"sequences", std::to_string(sequences_of(request))}};
  if (!request.from.empty()) batch.emplace("sequence_length", modest_length(model));
  text += table(schemas, "batch", batch);
  text += component(schemas, "optimizer", "adamw",
                    request.from.empty() ? Given{} : Given{{"lr", kFineTuningRate}});
  text += component(schemas, "schedule", "cosine", {{"warmup", "\"10 steps\""}});
  if (has_tokenizer(schemas, request)) {
    if (!request.prepared || !request.prepared->validation.empty())
      text += evaluation(schemas, "val_loss", evaluation_given(schemas, request));
    text +=
        evaluation(schemas, "sample",
                   request.data == "instruction" ? Given{{"instruction", "\"Name three colors.\""}}
                                                 : Given{{"prompt", "\"The \""}});
  }
  for (const char* name : {"precision", "parallelism", "checkpoint", "metrics"})
    text += table(schemas, name, {});
  return text;
}

// exprun new [NAME]

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

// A folder is no source: the files in it are.
void name_data(const std::string& path, StarterRequest& request) {
  if (path.empty()) return;
  request.prepared = described_set(path);
  if (request.data == "text" && (request.prepared || has_token_shards(path)))
    request.data = kTokenShards;
  if (request.data != kTokenShards) request.prepared.reset();
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    request.path = folder_patterns(path, {request.data, Split::train});
  if (request.data == kTokenShards && !request.path.empty())
    request.validation = folder_patterns(path, {request.data, Split::validation});
  if (request.path.empty()) request.path = {path};
  request.bytes = bytes_of(request.path);
}

Offer types_of(const char* kind) {
  return [kind](const Typed&) { return SchemaSet::embedded().types(kind); };
}

}  // namespace

int run_new(const Words& words, const Globals&) {
  std::string name = "experiment";
  std::string path;
  StarterRequest request{"gpt", "text", {}, {}, "", {}, {}, {}, ""};
  Arguments arguments("new [NAME]",
                      "Writes a starter recipe that you can run as is, with every key explained.");
  arguments.optional_word("NAME", name, "the file, with or without .toml (default: experiment)")
      .option("--model", "TYPE", request.model, "the model (default: gpt); see exprun schema model",
              types_of("model"))
      .option("--data", "TYPE", request.data,
              "the kind of data (default: text); see exprun schema dataset", types_of("dataset"))
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
  if (!request.from.empty() && !is_huggingface_folder(request.from))
    throw Error(
        "new: '" + request.from +
            "' is not a HuggingFace folder, which has a config.json; exprun data fetch gets "
            "one, and exprun export RUN --huggingface DIR writes one",
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
  const fs::path folder = file.parent_path().empty() ? "." : file.parent_path();
  const fs::path known = find_schema(folder);
  request.schema = known.empty() ? std::string("./") + kSchemaFile : known.string();
  const bool is_given = !path.empty();
  if (!is_given && request.data == "text" && !request.from.empty())
    path = path_from_export(request.from);
  name_data(path, request);
  if (is_given && !request.bytes)
    log_warning("new: no file matches '" + path + "'; the recipe needs it to run");
  if (request.data == "instruction" && request.from.empty())
    request.context_length = length_for_examples(request.path);
  const std::string text = starter_recipe(SchemaSet::embedded(), request);
  if (known.empty()) write_file_atomically(folder / kSchemaFile, composed_schema());
  write_file_atomically(file, text);
  const std::string typed = shell_quoted(file.string());
  log_info("wrote " + file.string() + "; exprun check " + typed + " shows its plan, exprun " +
           typed + " runs it");
  return 0;
}

}  // namespace exprun
