#include "control/command/starter_recipe.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "control/data/prepared_set.h"
#include "control/data/sources/folder_patterns.h"
#include "control/launch/weights/huggingface_model.h"
#include "recipe/quantities.h"
#include "recipe/schema/table_schema.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

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
  if (request.are_bare_tokens) given.emplace("format", "\"raw_uint16\"");
  if (request.prepared) given.emplace("tokenizer", "\"prepared\"");
  if (request.from.empty() || request.prepared) return given;
  given.merge(tokenizer_given(request.from));
  if (const auto form = template_of(request.from); form && request.data == "instruction")
    given.emplace("template", toml_quoted(*form));
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
    given.emplace("vocab_size", std::to_string(request.vocab_size.value_or(kGpt2Vocabulary)));
  return given;
}

constexpr int64_t kSteps = 200, kSequences = 16, kEvaluations = 11;  // one is before the first step

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

}  // namespace

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

}  // namespace exprun
