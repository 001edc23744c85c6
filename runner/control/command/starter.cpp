#include "control/command/starter.h"

#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/suggest.h"
#include "base/word_list.h"
#include "control/report/values_text.h"
#include "recipe/emit.h"
#include "recipe/quantities.h"
#include "recipe/table_schema.h"

namespace exprun {
namespace {

constexpr const char* kTextEverywhere = "${libtorch}/include/ATen/**/*.h";
constexpr size_t kCommentColumn = 36;
constexpr int64_t kGpt2Vocabulary = 50257;

using Given = std::map<std::string, std::string>;  // key to its value as TOML

const Schema& type_schema(const SchemaSet& schemas, const std::string& kind,
                          const std::string& type) {
  if (const Schema* schema = schemas.find(kind, type)) return *schema;
  const std::vector<std::string> types = schemas.types(kind);
  const auto near = nearest(type, types);
  throw Error("new: there is no " + kind + " \"" + type + "\": it can be " + alternatives(types) +
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
      if (key != "type" && schema.value("type", Schema()) != "object")
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

Given data_given(const SchemaSet& schemas, const StarterRequest& request) {
  const std::string key = path_key(type_schema(schemas, "dataset", request.data));
  if (key.empty()) return {};
  if (request.path.empty() && request.data != "text")
    throw Error("new: where are the data? say it with --path FILES", ExitCode::bad_recipe);
  const std::string path = request.path.empty() ? kTextEverywhere : request.path;
  return {{key, toml_text(Value(path, {}, Origin::default_value))}};
}

// Whether such data have a tokenizer by themselves: shards of tokens do not say what made them.
bool has_tokenizer(const SchemaSet& schemas, const std::string& data) {
  const Schema& keys = type_schema(schemas, "dataset", data)["properties"];
  return keys.contains("tokenizer") && keys["tokenizer"].value("default", "none") != "none";
}

// Nor do they say how many different ones there are.
Given model_given(const SchemaSet& schemas, const StarterRequest& request) {
  const bool asks =
      type_schema(schemas, "model", request.model)["properties"].contains("vocab_size");
  if (has_tokenizer(schemas, request.data) || !asks) return {};
  return {{"vocab_size", std::to_string(kGpt2Vocabulary)}};
}

constexpr int64_t kSteps = 200, kSequences = 16, kEvaluations = 11;  // one is before the first step

// So many tokens that the evaluations take little of the run; nothing where all of the validation
// data are no more, or are not known to be text.
Given evaluation_given(const SchemaSet& schemas, const StarterRequest& request) {
  const Schema& model = type_schema(schemas, "model", request.model)["properties"];
  if (!model.contains("context_length")) return {};
  const auto length = model["context_length"]["examples"].back().get<int64_t>();
  const int64_t tokens = modest_evaluation(kSteps * kSequences * length, kEvaluations);
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

}  // namespace

std::string starter_recipe(const SchemaSet& schemas, const StarterRequest& request) {
  std::string text = request.schema.empty() ? "" : "#:schema " + request.schema + '\n';
  text +=
      "# A first recipe. Keys behind a '#' have the value that they show; take the '#' away to "
      "change one.\n";
  text += table(schemas, "run", {{"steps", std::to_string(kSteps)}});
  text += component(schemas, "model", request.model, model_given(schemas, request));
  text += component(schemas, "dataset", request.data, data_given(schemas, request));
  text += table(schemas, "batch", {{"sequences", std::to_string(kSequences)}});
  text += component(schemas, "optimizer", "adamw", {});
  text += component(schemas, "schedule", "cosine", {{"warmup", "\"10 steps\""}});
  if (has_tokenizer(schemas, request.data)) {
    text += evaluation(schemas, "val_loss", evaluation_given(schemas, request));
    text += evaluation(schemas, "sample", {{"prompt", "\"The \""}});
  }
  for (const char* name : {"precision", "parallelism", "checkpoint", "metrics"})
    text += table(schemas, name, {});
  return text;
}

}  // namespace exprun
